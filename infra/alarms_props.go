package infra

import (
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"
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
	// function rings: at least 1 s, and less than the MaxAge of every stream.
	// Default: 1 h, or half of the shortest MaxAge if that is less.
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

	// NamePrefix begins the name of each alarm, followed by its id, for example
	// "prod-OrdersDeadLetters". A name is unique in an account and a Region, has at
	// most 255 characters, and a change of it replaces the alarm. Default:
	// CloudFormation generates the names.
	NamePrefix string

	// Notify are the topics that are notified when an alarm of any severity rings,
	// and when it returns to OK. A topic with a policy must allow CloudWatch to
	// publish, as [NewAlarmTopic] does. Otherwise no notification is sent. FIFO
	// topics are refused: they require a message group, which CloudWatch does not
	// send. Default: none.
	Notify []awssns.ITopic

	// Operations are the names that are passed to idempotent.New. An alarm needs
	// them, because it cannot search for metrics. A name that none of Functions
	// states is refused, unless one of them states no operation at all. Default:
	// those that Functions state.
	Operations []string

	// OutboxAge is the delay behind its outbox from which the alarm of a relay
	// rings: at least 1 s, and less than the MaxAge of every relay. Default: 5 min,
	// or half of the relay's MaxAge if that is less.
	OutboxAge time.Duration

	// Page is for the alarms that need a person now: callers fail, events are lost
	// if nobody acts, or an effect may have happened twice. Default: none.
	Page AlarmActions

	// QueueAge is the age of the oldest message of a queue from which its alarm
	// rings: at least 1 s, and less than the retention of every queue. Default: 1
	// h, or half of the queue's retention if that is less.
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

	// Ticket is for the alarms that can wait for working hours: nothing is lost
	// until then, or a caller has made the mistake. Default: none.
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

func (p *AlarmsProps) withDefaults() AlarmsProps {
	all := filled(p, AlarmsProps{
		ConflictPercent: 20, Errors: 5, LapsedLeases: 1, Mismatches: 10, Refusals: 10, ServerErrors: 1, Takeovers: 5, Throttles: 5,
	})
	if all.Operations == nil {
		all.Operations = stated(all.Functions)
	}
	return all
}

func (p *AlarmsProps) of(s signal) *AlarmActions {
	if s.ticket {
		return &p.Ticket
	}
	return &p.Page
}

// name returns the name of an alarm, or nil for one that CloudFormation generates.
func (p *AlarmsProps) name(id string) *string {
	if p.NamePrefix == "" {
		return nil
	}
	return jsii.String(p.NamePrefix + id)
}

func (p *AlarmsProps) refuse() (found problems) {
	found.when(len(p.Functions)+len(p.Operations)+len(p.Relays) == 0, "Operations: there is nothing to watch, neither Functions nor Operations nor Relays")
	found.when(!(p.ConflictPercent >= 0 && p.ConflictPercent <= 100), "ConflictPercent: %g is not 0 to 100", p.ConflictPercent)
	for i, all := 0, reflect.ValueOf(p).Elem(); i < all.NumField(); i++ {
		v, name := all.Field(i), all.Type().Field(i).Name
		age, isAge := v.Interface().(time.Duration)
		found.when(v.CanInt() && v.Int() < 0, "%s: %v is negative", name, v)
		found.when(isAge && age > 0 && age < time.Second, "%s: %s is less than 1 s", name, age)
	}
	found.when(strings.ContainsFunc(p.NamePrefix, unicode.IsControl), "NamePrefix: %q has a control character", p.NamePrefix)
	found = append(found, p.refuseActions("Page", &p.Page)...)
	found = append(found, p.refuseActions("Ticket", &p.Ticket)...)
	found = append(found, refuseTopics("Notify", p.Notify)...)
	refused := refuseNames(p.Functions, p.Operations, p.Relays)
	if found = append(found, refused...); len(refused) > 0 {
		return found
	}
	for _, f := range p.Functions {
		found = append(found, p.refuseSignals(f.watched())...)
	}
	for _, r := range p.Relays {
		found = append(found, p.refuseSignals(r.watched())...)
	}
	return found
}

func (p *AlarmsProps) refuseSignals(watched []signal) (found problems) {
	for _, s := range watched {
		if s.refuse != nil {
			found = append(found, s.refuse(p)...)
		}
	}
	return found
}

func (p *AlarmsProps) refuseName(id string) (found problems) {
	name := p.NamePrefix + id
	found.when(name != id && len(name) > 255 && !*awscdk.Token_IsUnresolved(name), "NamePrefix: %q is longer than the 255 characters of an alarm's name", name)
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
		found.when(*topic.Fifo(), "%s: %s is a FIFO topic, to which CloudWatch cannot publish", name, *topic.Node().Path())
	}
	return found
}

func refuseNames(functions []*IdempotentFunction, operations []string, relays []*Relay) (found problems) {
	ids := map[string]bool{}
	for _, f := range functions {
		if f == nil || f.scope == nil {
			found.when(true, "Functions: one is nil, or not made by NewIdempotentFunction or Protect")
			continue
		}
		id := *f.scope.Node().Id()
		found.when(ids[id], "Functions: two have the id %q", id)
		ids[id] = true
	}
	for _, r := range relays {
		if r == nil || r.scope == nil {
			found.when(true, "Relays: one is nil, or not made by NewRelay")
			continue
		}
		id := *r.scope.Node().Id()
		found.when(ids[id], "Relays: two relays, or a relay and a function, have the id %q", id)
		ids[id] = true
	}
	found = append(found, refuseOperations(operations)...)
	return append(found, refuseUnknown(functions, operations)...)
}
