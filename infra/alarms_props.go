package infra

import (
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
)

// AlarmsProps are the props of [NewAlarms]. Functions, Operations or Relays are required;
// the zero value of every other field is its default. A number is that of a period of
// 5 min, and the alarm rings from it.
type AlarmsProps struct {
	// ConflictPercent is the percentage of an operation's calls, of at least 20, that meet
	// a running duplicate. Default: 20.
	ConflictPercent float64

	// Errors is the number of failed invocations of a function. Default: 5.
	Errors int

	// Functions are the functions to watch, with their APIs, queues and streams. Their
	// alarms use metrics of AWS, which exist even if no function runs. Default: none.
	Functions []*IdempotentFunction

	// IteratorAge is the delay of a function behind its streams from which its alarm rings:
	// at least 1 s, and less than the MaxAge of every stream. Default: 1 h, or half of the
	// shortest MaxAge if that is less.
	IteratorAge time.Duration

	// LapsedLeases is the number of takeovers of a lapsed lease. The attempt before crashed
	// or was frozen, perhaps after its effect. A crash of a batch counts once for each
	// record that the batch had claimed ahead. Default: 1.
	LapsedLeases int

	// Mismatches is the number of calls with the key of a different payload. Every caller
	// of a public API can make it ring. Default: 10.
	Mismatches int

	// NamePrefix begins the name of each alarm, followed by its id, for example
	// "prod-OrdersDeadLetters". A name is unique in an account and a Region, has at most
	// 255 characters, and a change of it replaces the alarm. Default: CloudFormation
	// generates the names.
	NamePrefix string

	// Notify are the topics that are notified when an alarm of any severity rings, and when
	// it returns to OK. A topic with a policy must allow CloudWatch to publish, as
	// [NewAlarmTopic] does. Otherwise no notification is sent. FIFO topics are refused, because
	// SNS delivers them to queues alone, and to no person. Default: none.
	Notify []awssns.ITopic

	// Operations are the names that are passed to idempotent.New. An alarm needs them,
	// because it cannot search for metrics. A name that none of Functions states is refused,
	// unless one of them states no operation at all. Default: those that Functions state.
	Operations []string

	// OutboxAge is the delay of a relay behind its outbox from which its alarm rings: at
	// least 1 s, and less than the MaxAge of every relay. Default: 5 min, or half of the
	// relay's MaxAge if that is less.
	OutboxAge time.Duration

	// Page is for the alarms that need a person now: callers fail, events are lost if nobody
	// acts, or an effect may have happened twice. Default: none.
	Page AlarmActions

	// QueueAge is the age of the oldest message of a queue from which its alarm rings: at
	// least 1 s, and less than the retention of every queue. Default: 1 h, or half of the
	// queue's retention if that is less.
	QueueAge time.Duration

	// Refusals is the number of calls that were refused because of their request: no key or
	// an invalid one, an unknown caller, an unreadable body. Every caller of a public API can
	// make it ring. Default: 10.
	Refusals int

	// Relays are the relays to watch, with their outboxes. Default: none.
	Relays []*Relay

	// ServerErrors is the number of responses of an HTTP API with status 5xx. Default: 1.
	ServerErrors int

	// Takeovers is the number of completed runs that follow an attempt which failed or
	// lapsed. LapsedLeases counts the lapsed ones alone. Default: 5.
	Takeovers int

	// Throttles is the number of throttled invocations of a function. Default: 5.
	Throttles int

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

func (p *AlarmsProps) withDefaults() AlarmsProps {
	all := orZero(p)
	if all.Operations == nil {
		all.Operations = stated(all.Functions)
	}
	return all
}

// threshold returns the prop of a signal, or 0.
func (p *AlarmsProps) threshold(s *signal) float64 {
	_, age := p.age(s)
	return map[string]float64{
		"conflict_percent": p.ConflictPercent, "errors": float64(p.Errors), "lapsed_leases": float64(p.LapsedLeases), "mismatches": float64(p.Mismatches),
		"refusals": float64(p.Refusals), "server_errors": float64(p.ServerErrors), "takeovers": float64(p.Takeovers), "throttles": float64(p.Throttles),
	}[s.Setting] + float64(age)/float64(s.unit())
}

// age returns the prop of a signal that is an age, and its name.
func (p *AlarmsProps) age(s *signal) (name string, age time.Duration) {
	switch s.Setting {
	case "iterator_age":
		return "IteratorAge", p.IteratorAge
	case "outbox_age":
		return "OutboxAge", p.OutboxAge
	case "queue_age_seconds":
		return "QueueAge", p.QueueAge
	}
	return "", 0
}

// name returns the name of an alarm, or nil for one that CloudFormation generates. It panics
// for one that is too long.
func (p *AlarmsProps) name(scope constructs.Construct, id string) *string {
	if p.NamePrefix == "" {
		return nil
	}
	var found problems
	name := p.NamePrefix + id
	found.when(len(name) > 255 && !unresolved(name), "NamePrefix: %q is longer than the 255 characters of an alarm's name", name)
	found.panic(scope, "")
	return &name
}

func (p *AlarmsProps) refuse(a *app) (found problems) {
	found.when(len(p.Functions)+len(p.Operations)+len(p.Relays) == 0, "Operations: there is nothing to watch, neither Functions nor Operations nor Relays")
	found.when(!(p.ConflictPercent >= 0 && p.ConflictPercent <= 100), "ConflictPercent: %g is not 0 to 100", p.ConflictPercent)
	for i, all := 0, reflect.ValueOf(p).Elem(); i < all.NumField(); i++ {
		v, name := all.Field(i), all.Type().Field(i).Name
		age, isAge := v.Interface().(time.Duration)
		found.when(v.CanInt() && v.Int() < 0, "%s: %v is negative", name, v)
		found.when(isAge && age > 0 && age < time.Second, "%s: %s is less than 1 s", name, age)
	}
	found.when(strings.ContainsFunc(p.NamePrefix, unicode.IsControl), "NamePrefix: %q has a control character", p.NamePrefix)
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
		name, age := p.age(&s)
		found.when(s.end > 0 && age >= s.end, "%s: nothing waits for %s, because it disappears after %s", name, age, s.end)
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
