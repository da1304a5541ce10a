package template

import (
	"fmt"
	"slices"
	"strings"
)

// A Rule is a property that every deployment of Once must have.
type Rule string

const (
	Grant     Rule = "a function may make the calls of the store on the table, those of group commit all or none, and no more"
	Wildcard  Rule = "no statement allows a wildcard action or resource of DynamoDB"
	TTL       Rule = "the tables of records and of an outbox have time to live on expiration and backups, and are retained"
	Report    Rule = "queues and streams have ReportBatchItemFailures"
	DLQ       Rule = "every event source of a function has a queue for failed events"
	Visible   Rule = "a message stays invisible for six timeouts and the batching window"
	Kept      Rule = "a queue with the last copy of a message is retained when its stack is deleted or it is renamed"
	TLS       Rule = "queues and topics refuse requests without TLS, and topics let alarms publish"
	Logged    Rule = "an HTTP API has an access log, without paths, and is throttled"
	Relayed   Rule = "an outbox is written by PutItem alone, and its relay receives and marks the items, one batch at a time"
	AlarmRule Rule = "each alarm has one metric or expression, and does not ring without data"
)

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{Grant, Wildcard, TTL, Report, DLQ, Visible, Kept, TLS, Logged, Relayed, AlarmRule}
}

// Problems describes where a template breaks a rule. Actions are those that the
// store needs.
func (t Template) Problems(rule Rule, actions Actions) []string {
	var found []string
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	switch rule {
	case Grant:
		t.checkGrant(actions, say)
	case Wildcard:
		t.checkWildcard(say)
	case TTL:
		t.checkTTL(say)
	case Report, DLQ, Visible:
		t.checkSources(rule, say)
	case Kept:
		t.checkRetained(say)
	case TLS:
		t.checkTLS(say)
	case Logged:
		t.checkAPIs(say)
	case Relayed:
		t.checkOutbox(say)
	case AlarmRule:
		t.checkAlarms(say)
	}
	return found
}

func (t Template) checkGrant(actions Actions, say func(string, ...any)) {
	users := 0
	for _, f := range t.Functions() {
		if f.Table() == "" {
			if f.Outbox() == "" {
				say("%s has neither IDEMPOTENCY_TABLE nor OUTBOX_TABLE", f.ID)
			}
			continue // a relay: see rule Relayed
		}
		users++
		want := actions.Always
		if f.Groups() {
			want = actions.All()
		}
		if got := f.On(f.Table()); !slices.Equal(got, want) {
			say("%s may %v, the store calls %v", f.ID, got, want)
		}
	}
	if users == 0 {
		say("there is no function")
	}
}

func (t Template) checkWildcard(say func(string, ...any)) {
	for _, s := range t.everyStatement() {
		for _, action := range s.Actions {
			ours := strings.HasPrefix(action, "dynamodb:")
			switch {
			case action == "*" || ours && wildcard(action):
				say("the action %s", action)
			case ours && wildcard(s.Resources), ours && len(s.Resources) == 0:
				say("%s on %v", action, s.Resources)
			}
		}
	}
}

func (t Template) checkTTL(say func(string, ...any)) {
	for _, f := range t.Functions() {
		for _, id := range []string{f.Table(), f.Outbox()} {
			if id != "" {
				t.checkTable(f.ID, id, say)
			}
		}
	}
}

func (t Template) checkTable(user, id string, say func(string, ...any)) {
	table, ok := t.Resources("AWS::DynamoDB::GlobalTable")[id]
	if !ok {
		say("%s: the template has no table %q", user, id)
		return
	}
	p := table.Properties()
	ttl, _ := p["TimeToLiveSpecification"].(map[string]any)
	if ttl["AttributeName"] != "expiration" || ttl["Enabled"] != true {
		say("%s: time to live is %v", id, ttl)
	}
	for _, replica := range list(p["Replicas"]) {
		r, _ := replica.(map[string]any)
		recovery, _ := r["PointInTimeRecoverySpecification"].(map[string]any)
		if recovery["PointInTimeRecoveryEnabled"] != true || r["DeletionProtectionEnabled"] != true {
			say("%s: a replica has no backup or no protection: %v", id, r)
		}
	}
	if table["DeletionPolicy"] != "Retain" || table["UpdateReplacePolicy"] != "Retain" || len(list(p["Replicas"])) == 0 {
		say("%s goes with its stack", id)
	}
}

func (t Template) checkAlarms(say func(string, ...any)) {
	for id, alarm := range t.Resources("AWS::CloudWatch::Alarm") {
		p := alarm.Properties()
		if p["TreatMissingData"] != "notBreaching" {
			say("%s: missing data is %v", id, p["TreatMissingData"])
		}
		for _, m := range list(p["Metrics"]) {
			m, _ := m.(map[string]any)
			if strings.Contains(fmt.Sprint(m["Expression"]), "SEARCH") {
				say("%s searches, which an alarm cannot", id)
			}
		}
	}
}
