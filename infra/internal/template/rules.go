package template

import (
	"fmt"
	"slices"
	"strings"
)

// A Rule is a property that every deployment of Once must have.
type Rule struct {
	Text  string
	check func(*checker)
}

func (r Rule) String() string { return r.Text }

// The rules.
var (
	Grant     = Rule{"a function may make the calls of the store on the table, those of group commit all or none, and no more", (*checker).grants}
	Wildcard  = Rule{"no statement allows a wildcard action or resource of DynamoDB", (*checker).wildcards}
	TTL       = Rule{"the tables of records and of an outbox have time to live on expiration and backups, and are retained", (*checker).tables}
	Report    = Rule{"queues and streams have ReportBatchItemFailures", (*checker).reports}
	DLQ       = Rule{"every event source of a function has a queue for failed events", (*checker).failures}
	Visible   = Rule{"a message stays invisible for six timeouts and the batching window", (*checker).visibility}
	Kept      = Rule{"a queue with the last copy of a message is retained when its stack is deleted or it is renamed", (*checker).lastCopies}
	TLS       = Rule{"queues and topics refuse requests without TLS, and topics let alarms publish", (*checker).policies}
	Logged    = Rule{"an HTTP API has an access log, without paths, and is throttled", (*checker).apis}
	Relayed   = Rule{"an outbox is written by PutItem alone, and its relay receives and marks the items, one batch at a time", (*checker).outboxes}
	Emitted   = Rule{"each alarm reads metrics that AWS or the function writes, by names, dimensions and statistic", (*checker).readings}
	AlarmRule = Rule{"each alarm has one metric or expression, and does not ring without data", (*checker).alarms}
)

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{Grant, Wildcard, TTL, Report, DLQ, Visible, Kept, TLS, Logged, Relayed, Emitted, AlarmRule}
}

// A checker collects where a template breaks a rule.
type checker struct {
	Template
	actions  Actions
	problems []string
}

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// Problems describes where a template breaks a rule. Actions are those that the
// store needs.
func (t Template) Problems(rule Rule, actions Actions) []string {
	c := &checker{Template: t, actions: actions}
	rule.check(c)
	return c.problems
}

func (c *checker) grants() {
	users := 0
	for _, f := range c.Functions() {
		if f.Table() == "" {
			if f.Outbox() == "" {
				c.say("%s has neither IDEMPOTENCY_TABLE nor OUTBOX_TABLE", f.ID)
			}
			continue // a relay: see rule Relayed
		}
		users++
		want := c.actions.Always
		if f.Groups() {
			want = c.actions.All()
		}
		if got := f.On(f.Table()); !slices.Equal(got, want) {
			c.say("%s may %v, the store calls %v", f.ID, got, want)
		}
	}
	if users == 0 {
		c.say("there is no function")
	}
}

func (c *checker) wildcards() {
	for _, v := range Values(c.Template["Resources"]) {
		for _, s := range statements(v) {
			for _, action := range s.Actions {
				ours := strings.HasPrefix(action, "dynamodb:")
				switch {
				case action == "*" || ours && hasWildcard(action):
					c.say("the action %s", action)
				case ours && (hasWildcard(s.Resources) || len(s.Resources) == 0):
					c.say("%s on %v", action, s.Resources)
				}
			}
		}
	}
}

// hasWildcard reports whether IAM would match a resource with several: any text with
// a "*", also within a join or a substitution.
func hasWildcard(v any) bool {
	return slices.ContainsFunc(Values(v), func(v any) bool {
		text, ok := v.(string)
		return ok && strings.ContainsAny(text, "*?")
	})
}

func (c *checker) tables() {
	for _, f := range c.Functions() {
		for _, id := range []string{f.Table(), f.Outbox()} {
			if id != "" {
				c.table(f.ID, id)
			}
		}
	}
}

func (c *checker) table(user, id string) {
	table, ok := c.Resources("AWS::DynamoDB::GlobalTable")[id]
	if !ok {
		c.say("%s: the template has no table %q", user, id)
		return
	}
	if ttl := table.at("TimeToLiveSpecification"); at(ttl, "AttributeName") != "expiration" || at(ttl, "Enabled") != true {
		c.say("%s: time to live is %v", id, ttl)
	}
	replicas := list(table.at("Replicas"))
	for _, r := range replicas {
		if at(r, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled") != true || at(r, "DeletionProtectionEnabled") != true {
			c.say("%s: a replica has no backup or no protection: %v", id, r)
		}
	}
	if !table.isRetained() || len(replicas) == 0 {
		c.say("%s goes with its stack", id)
	}
}

func (c *checker) apis() {
	kinds := []string{"AWS::ApiGatewayV2::Stage", "AWS::Serverless::HttpApi"}
	for id, r := range c.Resources(kinds...) {
		if _, ok := c.Resources("AWS::Logs::LogGroup")[target(r.at("AccessLogSettings", "DestinationArn"))]; !ok {
			c.say("%s has no access log", id)
		}
		format := fmt.Sprint(r.at("AccessLogSettings", "Format"))
		if !strings.Contains(format, "$context.requestId") || strings.Contains(format, "$context.path") {
			c.say("%s logs %s", id, format)
		}
		limits := r.at("DefaultRouteSettings")
		if number(at(limits, "ThrottlingBurstLimit")) <= 0 || number(at(limits, "ThrottlingRateLimit")) <= 0 {
			c.say("%s is not throttled: %v", id, limits)
		}
	}
	if apis := c.IDs("AWS::ApiGatewayV2::Api"); len(apis) > 0 && len(c.Resources(kinds...)) == 0 {
		c.say("%v have no stage", apis)
	}
}

func (c *checker) alarms() {
	for id, alarm := range c.Resources("AWS::CloudWatch::Alarm") {
		if missing := alarm.at("TreatMissingData"); missing != "notBreaching" {
			c.say("%s: missing data is %v", id, missing)
		}
		for _, m := range list(alarm.at("Metrics")) {
			if strings.Contains(fmt.Sprint(at(m, "Expression")), "SEARCH") {
				c.say("%s searches, which an alarm cannot", id)
			}
		}
	}
}
