package infra

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// AlarmsProps are the props of [NewAlarms]. Functions, Operations or Relays are required;
// the zero value of every other field is its default.
type AlarmsProps struct {
	// Functions are the functions to watch, with their APIs, queues and streams. Their
	// alarms use metrics of AWS, which exist even if no function runs. Default: none.
	Functions []*IdempotentFunction

	// Notify are the topics that are notified when an alarm of any severity rings, and when
	// it returns to OK. A topic with a policy must allow CloudWatch to publish, as
	// [NewAlarmTopic] does. Otherwise no notification is sent. FIFO topics are refused, because
	// SNS delivers them to queues alone, and to no person. Default: none.
	Notify []awssns.ITopic

	// Operations are the names that are passed to idempotent.New. An alarm needs them,
	// because it cannot search for metrics. A name that none of Functions states is refused,
	// unless one of them states no operation at all. Default: those that Functions state.
	Operations []string

	// Page is for the alarms that need a person now: callers fail, events are lost if nobody
	// acts, or an effect may have happened twice. Default: none.
	Page AlarmActions

	// Relays are the relays to watch, with their outboxes. Default: none.
	Relays []*Relay

	// Thresholds are numbers from which alarms ring, by their names in the Terraform module alarms:
	// percent of an operation's calls, of at least 20, that meet a running duplicate
	// (conflict_percent), or that are duplicates (duplicate_percent, without which there is no
	// such alarm); counts in 5 min (errors, lapsed_leases, mismatches, refusals,
	// server_errors, takeovers, throttles); and ages (iterator_age_seconds, outbox_age_seconds,
	// queue_age_seconds), which must be less than the age at which an event disappears.
	// Default: those of alarms.json, and half of that age if it is less.
	Thresholds map[string]float64

	// Ticket is for the alarms that can wait for working hours: nothing is lost until then,
	// or a caller has made the mistake. Default: none.
	Ticket AlarmActions
}

// AlarmActions are the actions of the alarms of one severity.
type AlarmActions struct {
	// Actions run when an alarm rings, and not when it returns to OK: a function,
	// an OpsItem, an incident. A function gets a permission for each alarm, and its
	// policy has at most 20 KB, which is about 50 of them. Default: none.
	Actions []awscloudwatch.IAlarmAction

	// Notify are topics, as AlarmsProps.Notify is for all alarms. Default: none.
	Notify []awssns.ITopic
}

func (p *AlarmsProps) refuse(a *appcheck.App) (found problems) {
	found.when(len(p.Functions)+len(p.Operations)+len(p.Relays) == 0, "Operations: there is nothing to watch, neither Functions nor Operations nor Relays")
	for _, name := range slices.Sorted(maps.Keys(p.Thresholds)) {
		most := float64(math.MaxInt32)
		if strings.HasSuffix(name, "_percent") {
			most = 100
		}
		value := p.Thresholds[name]
		found.when(!slices.Contains(catalog.settings, name), "Thresholds: %q is none of %q", name, catalog.settings)
		found.when(!(value > 0 && value <= most), "Thresholds: %s is %g; state more than 0 and at most %g", name, value, most)
	}
	found.add(p.refuseActions("Page", &p.Page), p.refuseActions("Ticket", &p.Ticket), refuseTopics("Notify", p.Notify))
	if refused := refuseNames(p.Functions, p.Operations, p.Relays); len(refused) > 0 {
		return append(found, refused...)
	}
	var watched []signal
	for _, f := range p.Functions {
		watched = append(watched, f.watched(a)...)
	}
	for _, r := range p.Relays {
		watched = append(watched, r.watched()...)
	}
	for _, s := range watched {
		found.when(s.end > 0 && s.threshold(p) >= s.end.Seconds()*s.unit(), "Thresholds: nothing waits for %s, because it disappears after %s", s.Setting, s.end)
	}
	return found
}

// refuseActions reports mistakes in the actions of one severity. CloudWatch takes five
// for each state of an alarm.
func (p *AlarmsProps) refuseActions(name string, own *AlarmActions) problems {
	found := refuseTopics(name+".Notify", own.Notify)
	found.when(slices.Contains(own.Actions, nil), "%s.Actions: one is nil", name)
	n := len(p.Notify) + len(own.Notify) + len(own.Actions)
	found.when(n > 5, "%s: with Notify it has %d actions; an alarm has at most 5", name, n)
	return found
}

func refuseTopics(name string, topics []awssns.ITopic) (found problems) {
	for _, topic := range topics {
		if topic == nil {
			found.when(true, "%s: one is nil", name)
			continue
		}
		found.when(*topic.Fifo(), "%s: %s is a FIFO topic, which SNS delivers to queues alone, and to no person; use a standard topic", name, *topic.Node().Path())
	}
	return found
}

func refuseNames(functions []*IdempotentFunction, operations []string, relays []*Relay) problems {
	ids := map[string]bool{}
	found := refuseShown("Functions", "NewIdempotentFunction or Protect", functions, func(f *IdempotentFunction) constructs.Construct { return f.scope }, ids)
	found.add(refuseShown("Relays", "NewRelay", relays, func(r *Relay) constructs.Construct { return r.scope }, ids),
		refuseOperations(operations), refuseUnknown(functions, operations))
	return found
}

func refuseShown[T any](name, constructors string, all []*T, scope func(*T) constructs.Construct, ids map[string]bool) (found problems) {
	for _, one := range all {
		if one == nil || scope(one) == nil {
			found.when(true, "%s: one is nil, or not made by %s", name, constructors)
			continue
		}
		id := *scope(one).Node().Id()
		found.when(ids[id], "%s: two have the id %q, among functions and relays", name, id)
		ids[id] = true
	}
	return found
}
