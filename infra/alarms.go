package infra

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// AlarmsProps are the props of [NewAlarms]. Functions or Operations are
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

	// Notify are the topics that hear of an alarm, and of its end.
	//
	// Default: none. The alarms show in the console only.
	Notify []awssns.ITopic

	// Operations are the names that are given to idempotent.New. CloudWatch
	// cannot find them by itself: an alarm takes no search.
	//
	// Default: none.
	Operations []string

	// QueueAge is how old the oldest message of a queue may be: less than any
	// of them keeps one.
	//
	// Default: 1 h, or half of what the queue keeps if that is less.
	QueueAge time.Duration

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

// NewAlarms makes the alarms of operations and of what feeds their functions:
// each looks at 5 min, and no data is no alarm. The descriptions say what to
// do. Of the operations they need the metrics that package emf writes.
func NewAlarms(scope constructs.Construct, id string, props *AlarmsProps) []awscloudwatch.Alarm {
	p := props.withDefaults()
	p.refuse().panic(scope, id)
	a := &alarms{scope: constructs.NewConstruct(scope, &id), notify: p.Notify}
	for _, operation := range p.Operations {
		a.operation(operation, &p)
	}
	for _, f := range p.Functions {
		a.function(f, &p)
	}
	return a.made
}

type alarms struct {
	scope  constructs.Construct
	notify []awssns.ITopic
	made   []awscloudwatch.Alarm
}

// add makes an alarm that is raised at a threshold or above it.
func (a *alarms) add(id, description string, metric awscloudwatch.IMetric, threshold float64) {
	alarm := awscloudwatch.NewAlarm(a.scope, &id, &awscloudwatch.AlarmProps{
		AlarmDescription:   &description,
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		EvaluationPeriods:  jsii.Number(1),
		Metric:             metric,
		Threshold:          &threshold,
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
	for _, topic := range a.notify {
		action := awscloudwatchactions.NewSnsAction(topic)
		alarm.AddAlarmAction(action)
		alarm.AddOkAction(action)
	}
	a.made = append(a.made, alarm)
}

// enoughCalls in a period are worth a percentage: a double click at night is
// no alarm.
const enoughCalls = 20

func (a *alarms) operation(name string, p *AlarmsProps) {
	for _, o := range []struct {
		outcome, id, advice string
		threshold           float64
	}{
		{"lease lost", "LeaseLost", "a call outlived its lease, and its effect may have happened twice. Compare the lease with how long the handler runs.", 1},
		{"unknown", "Unknown", "nobody knows whether the effect happened. Find out, and resolve the record.", 1},
		{"mismatch", "Mismatch", "a key came again with another payload. The key is not unique, or a client reuses it.", float64(p.Mismatches)},
		{"takeover", "Takeovers", "attempts crash or are cut off, and others take over. See the function's errors and timeouts.", float64(p.Takeovers)},
	} {
		a.add(name+o.id, name+": "+o.advice, calls(name, o.outcome), o.threshold)
	}
	a.add(name+"StoreErrors", name+": calls to DynamoDB fail. See the function's log for the errors.",
		used{name: metricStoreErrors, operation: name}.metric("Sum"), 1)
	a.add(name+"StoreThrottles", name+": DynamoDB throttles. See whether the table or one key is hot.",
		used{name: metricStoreThrottles, operation: name}.metric("Sum"), 1)
	a.add(name+"Conflicts", name+": many calls meet a running twin. Callers retry too early, or the handler is slow.",
		percentOfMany(name, "conflicts in percent", enoughCalls, "conflict"), p.ConflictPercent)
}

func (a *alarms) function(f *IdempotentFunction, p *AlarmsProps) {
	name := *f.scope.Node().Id()
	a.add(name+"Errors", name+": invocations fail. See the function's log; without a line there, it does not start.",
		f.metric("Errors", "Sum"), float64(p.Errors))
	a.add(name+"Throttles", name+": Lambda throttles the function. See its concurrency, and the account's.",
		f.metric("Throttles", "Sum"), float64(p.Throttles))
	for i, api := range f.apis {
		a.add(name+suffix(i)+"ServerErrors", name+": the API answers 5xx. The function fails, runs too long, or is not there.",
			api.MetricServerError(metricOptions("Sum")), float64(p.ServerErrors))
	}
	options := metricOptions("Maximum")
	for i, q := range f.queues {
		id := name + suffix(i)
		a.add(id+"DeadLetters", name+": messages are in the dead-letter queue. Repair what refuses them, and send them back.",
			q.DeadLetters.MetricApproximateNumberOfMessagesVisible(options), 1)
		a.add(id+"QueueAge", name+": the oldest message waits too long. The function fails, or is too slow for what comes.",
			q.Queue.MetricApproximateAgeOfOldestMessage(options), p.queueAge(q).Seconds())
	}
	for i, q := range f.failures {
		a.add(name+suffix(i)+"Failures", name+": Lambda has given up on events. Repair what refuses them, and send them again.",
			q.MetricApproximateNumberOfMessagesVisible(options), 1)
	}
	if f.asyncSink != nil {
		a.add(name+"Undelivered", name+": Lambda cannot put events into the failure queue, and drops them. See what the function's role may do.",
			f.metric("DestinationDeliveryFailures", "Sum"), 1)
	}
	if f.streams {
		a.add(name+"IteratorAge", name+": the function is behind its stream. A record blocks a shard, or the function is too slow.",
			f.metric("IteratorAge", "Maximum"), float64(p.IteratorAge.Milliseconds()))
	}
}

// suffix numbers all but the first, so that the first keeps its alarms when
// more come.
func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprint(i + 1)
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
	found.when(len(p.Functions)+len(p.Operations) == 0, "Operations: there is nothing to watch, neither Functions nor Operations")
	found.when(p.ConflictPercent < 0 || p.ConflictPercent > 100, "ConflictPercent: %g is not 0 to 100", p.ConflictPercent)
	found.when(p.IteratorAge < 0, "IteratorAge: %s is negative", p.IteratorAge)
	found.when(p.QueueAge < 0, "QueueAge: %s is negative", p.QueueAge)
	for _, threshold := range []struct {
		name  string
		value int
	}{
		{"Errors", p.Errors}, {"Mismatches", p.Mismatches}, {"ServerErrors", p.ServerErrors}, {"Takeovers", p.Takeovers}, {"Throttles", p.Throttles},
	} {
		found.when(threshold.value < 0, "%s: %d is negative", threshold.name, threshold.value)
	}
	found = append(found, refuseNames(p.Functions, p.Operations)...)
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

func refuseNames(functions []*IdempotentFunction, operations []string) problems {
	var found problems
	ids, names := map[string]bool{}, map[string]bool{}
	for _, f := range functions {
		if f == nil {
			found.when(true, "Functions: one is nil")
			continue
		}
		id := *f.scope.Node().Id()
		found.when(ids[id], "Functions: two have the id %q", id)
		ids[id] = true
	}
	for _, operation := range operations {
		found.when(operation == "" || names[operation], "Operations: %q is empty or there twice", operation)
		found.when(!ascii(operation), "Operations: %q is not ASCII, and CloudWatch takes nothing else for a dimension", operation)
		names[operation] = true
	}
	return found
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}
