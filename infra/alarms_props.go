package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
)

// AlarmsProps are the props of [NewAlarms]. Functions, Operations or Relays are
// required; the zero value of every other field is its default.
type AlarmsProps struct {
	// ConflictPercent is the share of an operation's calls, in percent, that
	// may meet a running twin, in 5 min with at least 20 calls.
	//
	// Default: 20.
	ConflictPercent float64

	// Errors is at how many failed invocations of a function in 5 min its
	// alarm is raised.
	//
	// Default: 5.
	Errors int

	// Functions are watched with their APIs, queues and streams: by metrics of
	// AWS, which are there when no function runs.
	//
	// Default: none.
	Functions []*IdempotentFunction

	// IteratorAge is by how long a function may be behind its streams.
	//
	// Default: 1 h.
	IteratorAge time.Duration

	// Mismatches is at how many calls in 5 min with the key of another payload
	// the alarm is raised. Whoever may call a public API can raise it.
	//
	// Default: 10.
	Mismatches int

	// Notify are the topics that hear of an alarm, and of its end. One with a
	// policy of its own has to let CloudWatch publish, as those of
	// [NewAlarmTopic] do: with a policy that forgets it, nobody hears anything.
	//
	// Default: none. The alarms show in the console only.
	Notify []awssns.ITopic

	// Operations are the names that are given to idempotent.New. CloudWatch
	// cannot find them by itself: an alarm takes no search. A name that none of
	// Functions states is refused, unless one of them states none at all.
	//
	// Default: those that Functions state.
	Operations []string

	// OutboxAge is by how long a relay may be behind its outbox.
	//
	// Default: 5 min.
	OutboxAge time.Duration

	// QueueAge is how old the oldest message of a queue may be: less than any
	// of them keeps one.
	//
	// Default: 1 h, or half of what the queue keeps if that is less.
	QueueAge time.Duration

	// Relays are watched with the outboxes that they publish.
	//
	// Default: none.
	Relays []*Relay

	// ServerErrors is at how many answers of an HTTP API with status 5xx in
	// 5 min its alarm is raised.
	//
	// Default: 1.
	ServerErrors int

	// Takeovers is how many attempts in 5 min may follow one that crashed or
	// was cut off.
	//
	// Default: 5.
	Takeovers int

	// Throttles is at how many invocations of a function that Lambda throttles
	// in 5 min its alarm is raised.
	//
	// Default: 5.
	Throttles int
}

func (p *AlarmsProps) queueAge(q *Queue) time.Duration {
	if p.QueueAge != 0 {
		return p.QueueAge
	}
	return min(time.Hour, q.props.Retention/2)
}

func (p *AlarmsProps) withDefaults() AlarmsProps {
	if p == nil {
		p = &AlarmsProps{}
	}
	filled := *p
	if filled.Operations == nil {
		filled.Operations = stated(filled.Functions)
	}
	if filled.ConflictPercent == 0 {
		filled.ConflictPercent = 20
	}
	if filled.Errors == 0 {
		filled.Errors = 5
	}
	if filled.IteratorAge == 0 {
		filled.IteratorAge = time.Hour
	}
	if filled.Mismatches == 0 {
		filled.Mismatches = 10
	}
	if filled.OutboxAge == 0 {
		filled.OutboxAge = 5 * time.Minute
	}
	if filled.ServerErrors == 0 {
		filled.ServerErrors = 1
	}
	if filled.Takeovers == 0 {
		filled.Takeovers = 5
	}
	if filled.Throttles == 0 {
		filled.Throttles = 5
	}
	return filled
}

func (p *AlarmsProps) refuse() problems {
	var found problems
	found.when(len(p.Functions)+len(p.Operations)+len(p.Relays) == 0, "Operations: there is nothing to watch, neither Functions nor Operations nor Relays")
	found.when(p.ConflictPercent < 0 || p.ConflictPercent > 100, "ConflictPercent: %g is not 0 to 100", p.ConflictPercent)
	found.when(p.IteratorAge < 0, "IteratorAge: %s is negative", p.IteratorAge)
	found.when(p.OutboxAge < 0, "OutboxAge: %s is negative", p.OutboxAge)
	found.when(p.QueueAge < 0, "QueueAge: %s is negative", p.QueueAge)
	for _, threshold := range []struct {
		name  string
		value int
	}{
		{"Errors", p.Errors}, {"Mismatches", p.Mismatches}, {"ServerErrors", p.ServerErrors}, {"Takeovers", p.Takeovers}, {"Throttles", p.Throttles},
	} {
		found.when(threshold.value < 0, "%s: %d is negative", threshold.name, threshold.value)
	}
	for _, topic := range p.Notify {
		found.when(topic == nil, "Notify: one is nil")
	}
	found = append(found, refuseNames(p.Functions, p.Operations, p.Relays)...)
	for _, f := range p.Functions {
		if f == nil {
			continue
		}
		for _, q := range f.queues {
			found.when(p.QueueAge >= q.props.Retention, "QueueAge: no message of %s gets as old as %s, it is kept for %s",
				*q.Queue.Node().Path(), p.QueueAge, q.props.Retention)
		}
	}
	return found
}

func refuseNames(functions []*IdempotentFunction, operations []string, relays []*Relay) problems {
	var found problems
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
		found.when(ids[id], "Relays: another, or a function, has the id %q", id)
		ids[id] = true
	}
	found = append(found, refuseOperations(operations)...)
	return append(found, refuseUnknown(functions, operations)...)
}
