package infra

import (
	"reflect"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
)

// AlarmsProps are the props of [NewAlarms]. Functions, Operations or Relays are
// required; the zero value of every other field is its default.
type AlarmsProps struct {
	// ConflictPercent is the percentage of an operation's calls, in 5 min with at
	// least 20 calls, from which conflicts with a running duplicate ring. Default:
	// 20.
	ConflictPercent float64

	// Errors is the number of failed invocations of a function in 5 min from which
	// its alarm rings. Default: 5.
	Errors int

	// Functions are the functions to watch, with their APIs, queues and streams.
	// Their alarms use metrics of AWS, which exist even if no function runs.
	// Default: none.
	Functions []*IdempotentFunction

	// IteratorAge is the delay behind its streams from which the alarm of a
	// function rings. Default: 1 h.
	IteratorAge time.Duration

	// LapsedLeases is the number of takeovers of a lapsed lease in 5 min from which
	// the alarm rings. The attempt before crashed or was frozen, perhaps after its
	// effect. A crash of a batch counts once for each record that the batch had
	// claimed ahead. Default: 1.
	LapsedLeases int

	// Mismatches is the number of calls in 5 min with the key of a different
	// payload from which the alarm rings. Every caller of a public API can make it
	// ring. Default: 10.
	Mismatches int

	// Notify are the topics that are notified when an alarm rings, and when it
	// returns to OK. A topic with a policy must allow CloudWatch to publish, as
	// [NewAlarmTopic] does. Otherwise no notification is sent. Default: none. The
	// alarms are visible only in the console.
	Notify []awssns.ITopic

	// Operations are the names that are passed to idempotent.New. An alarm needs
	// them, because it cannot search for metrics. A name that none of Functions
	// states is refused, unless one of them states no operation at all. Default:
	// those that Functions state.
	Operations []string

	// OutboxAge is the delay behind its outbox from which the alarm of a relay
	// rings. Default: 5 min.
	OutboxAge time.Duration

	// QueueAge is the age of the oldest message of a queue from which its alarm
	// rings. It must be less than the retention of every queue. Default: 1 h, or
	// half of the queue's retention if that is less.
	QueueAge time.Duration

	// Refusals is the number of calls in 5 min that were refused because of their
	// request, from which the alarm rings: no key or an invalid one, an unknown
	// caller, an unreadable body. Every caller of a public API can make it ring.
	// Default: 10.
	Refusals int

	// Relays are the relays to watch, with their outboxes. Default: none.
	Relays []*Relay

	// ServerErrors is the number of responses of an HTTP API with status 5xx in 5
	// min from which its alarm rings. Default: 1.
	ServerErrors int

	// Takeovers is the number of completed runs in 5 min that follow an attempt
	// which failed or lapsed, from which the alarm rings. LapsedLeases counts the
	// lapsed ones alone. Default: 5.
	Takeovers int

	// Throttles is the number of throttled invocations of a function in 5 min from
	// which its alarm rings. Default: 5.
	Throttles int
}

func (p *AlarmsProps) withDefaults() AlarmsProps {
	all := filled(p, AlarmsProps{
		ConflictPercent: 20, Errors: 5, IteratorAge: time.Hour, LapsedLeases: 1, Mismatches: 10, OutboxAge: 5 * time.Minute,
		Refusals: 10, ServerErrors: 1, Takeovers: 5, Throttles: 5,
	})
	if all.Operations == nil {
		all.Operations = stated(all.Functions)
	}
	return all
}

func (p *AlarmsProps) refuse() (found problems) {
	found.when(len(p.Functions)+len(p.Operations)+len(p.Relays) == 0, "Operations: there is nothing to watch, neither Functions nor Operations nor Relays")
	found.when(p.ConflictPercent < 0 || p.ConflictPercent > 100, "ConflictPercent: %g is not 0 to 100", p.ConflictPercent)
	for i, all := 0, reflect.ValueOf(p).Elem(); i < all.NumField(); i++ { // ages and thresholds
		if v := all.Field(i); v.CanInt() {
			found.when(v.Int() < 0, "%s: %v is negative", all.Type().Field(i).Name, v)
		}
	}
	for _, topic := range p.Notify {
		found.when(topic == nil, "Notify: one is nil")
	}
	found = append(found, refuseNames(p.Functions, p.Operations, p.Relays)...)
	for _, f := range p.Functions {
		if f == nil {
			continue
		}
		for _, s := range f.watched() {
			if s.refuse != nil {
				found = append(found, s.refuse(p)...)
			}
		}
	}
	return found
}

func refuseNames(functions []*IdempotentFunction, operations []string, relays []*Relay) (found problems) {
	ids := map[string]bool{}
	for _, f := range functions {
		if f == nil {
			found.when(true, "Functions: one is nil")
			continue
		}
		id := *f.scope.Node().Id()
		found.when(ids[id], "Functions: two have the id %q", id)
		ids[id] = true
	}
	for _, r := range relays {
		if r == nil {
			found.when(true, "Relays: one is nil")
			continue
		}
		id := *r.scope.Node().Id()
		found.when(ids[id], "Relays: two relays, or a relay and a function, have the id %q", id)
		ids[id] = true
	}
	found = append(found, refuseOperations(operations)...)
	return append(found, refuseUnknown(functions, operations)...)
}
