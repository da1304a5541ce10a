package infra

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// A signal is a metric of an operation, of a function or of one of its event sources,
// with the alarm on it and its graph. Those of sources are found in the app, so that
// alarms.go and dashboard.go know none of them.
type signal struct {
	of        string // the source, if it is one
	id        string // the end of the alarm's id
	advice    string
	page      string // where the documentation continues; by default, that of functions
	ticket    bool   // the severity: a ticket, or by default a page
	graph     string // title of its graph; signals with one title share it
	metric    awscloudwatch.IMetric
	threshold func(*AlarmsProps) float64
	hours     float64                     // of a day in which metric reaches the threshold; 0 for 5 min
	refuse    func(*AlarmsProps) problems // may be nil
}

// key identifies the alarm of a source.
func (s *signal) key() string { return strings.TrimSpace(s.of + " " + s.id) }

// reference returns the end of an alarm's description.
func (s *signal) reference() string {
	severity := "page"
	if s.ticket {
		severity = "ticket"
	}
	return " Severity: " + severity + ". " + documentation + cmp.Or(s.page, ofFunctions)
}

// documentation is the folder of the pages at this release; "make version" sets it.
const documentation = "https://github.com/lambda-once/once/blob/v0.1.0/docs/"

// Headings of pages.
const (
	ofFunctions  = "operate.md#alarms-of-a-function"
	ofOperations = "operate.md#alarms-of-an-operation"
	ofRelays     = "operate.md#alarms-of-a-relay"
	outage       = "incidents.md#an-outage-of-the-store"
	settling     = "operate.md#settle-a-record"
	unpublished  = "operate.md#the-outbox"
)

// Titles of graphs.
const (
	failing = "Errors and throttles"
	givenUp = "Given up: dead letters and failures"
	waiting = "Age of the oldest message, s"
	behind  = "Behind the stream, ms"
)

// watched returns the signals of the function and of its sources.
func (f *IdempotentFunction) watched(a *app) []signal {
	return append(invocations(f.Function), f.sourced(a)...)
}

// silence returns the signal of a function that runs, and whose operations write no
// metrics. Single hours prove nothing: Lambda counts an invocation when it began, and a
// call is counted when it ended.
func (f *IdempotentFunction) silence() []signal {
	operations := f.operations()
	if f.props.NoMetrics || len(operations) == 0 || len(operations) > 8 { // an alarm compares ten metrics
		return nil
	}
	var called []string
	metrics := map[string]awscloudwatch.IMetric{"errors": lambdaMetric(f.Function, "Errors", "Sum"), "invocations": lambdaMetric(f.Function, "Invocations", "Sum")}
	for i, operation := range operations {
		id := "calls" + suffix(i)
		metrics[id] = sum("Calls", operation)
		called = append(called, "FILL("+id+", 0)")
	}
	return []signal{{
		id: "Silent", ticket: true, hours: 3, threshold: fixed(1),
		advice: "invocations succeed, and no metrics of their calls arrive, so the alarms of operations cannot ring. Set ONCE_METRICS to emf, or name package emf in Config.Observer; keep the log level of Lambda at INFO.",
		metric: awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
			Expression: jsii.Sprintf("IF(%s == 0, invocations - FILL(errors, 0), 0)", strings.Join(called, " + ")),
			Label:      jsii.String("invocations without a call"), Period: awscdk.Duration_Hours(jsii.Number(1)), UsingMetrics: &metrics,
		}),
	}}
}

func (r *Relay) watched() []signal {
	failures := lost("Failures", &queueOf{name: r.Failures.QueueName()}, "Lambda has given up on messages of the outbox. Repair the cause of their failure, publish the messages without a mark, and empty the queue.")
	failures.page = unpublished
	all := append(invocations(r.Function), failures,
		aged("OutboxAge", func(p *AlarmsProps) time.Duration { return p.OutboxAge }, 5*time.Minute, r.maxAge, signal{
			id:     "IteratorAge",
			advice: "messages wait too long in the outbox. A destination refuses one, which blocks its shard, or the relay is too slow.",
			graph:  behind, metric: lambdaMetric(r.Function, "IteratorAge", "Maximum"),
		}))
	for i := range all {
		all[i].page = cmp.Or(all[i].page, ofRelays)
	}
	return all
}

func invocations(function awslambda.IFunction) []signal {
	return []signal{
		{id: "Errors", graph: failing, advice: "invocations fail. See the function's log; without a line there, it does not start.", metric: lambdaMetric(function, "Errors", "Sum"), threshold: count(func(p *AlarmsProps) int { return p.Errors })},
		{id: "Throttles", graph: failing, ticket: true, advice: "Lambda throttles the function. See its concurrency, and the account's.", metric: lambdaMetric(function, "Throttles", "Sum"), threshold: count(func(p *AlarmsProps) int { return p.Throttles })},
	}
}

// watchLag adds the number of records of a topic that wait for the function.
func (f *IdempotentFunction) watchLag(most int) {
	f.signals = append(f.signals, signal{
		id: "OffsetLag", advice: "the function is behind its topic. Records fail, or the function is too slow.",
		graph: "Behind the topic, records", metric: lambdaMetric(f.Function, "OffsetLag", "Maximum"), threshold: fixed(float64(most)),
	})
}

func fixed(threshold float64) func(*AlarmsProps) float64 {
	return func(*AlarmsProps) float64 { return threshold }
}

func count(prop func(*AlarmsProps) int) func(*AlarmsProps) float64 {
	return func(p *AlarmsProps) float64 { return float64(prop(p)) }
}

// aged returns a signal whose threshold is a prop, which is the time for which an event
// waits. By default it is the usual one, and at most half of end, the age at which an
// event disappears. An end of 0 is unknown.
func aged(name string, prop func(*AlarmsProps) time.Duration, usual, end time.Duration, s signal) signal {
	unit := time.Second
	if s.graph == behind {
		unit = time.Millisecond
	}
	if end > 0 {
		usual = min(usual, end/2)
	}
	s.threshold = func(p *AlarmsProps) float64 { return float64(cmp.Or(prop(p), usual)) / float64(unit) }
	s.refuse = func(p *AlarmsProps) (found problems) {
		found.when(end > 0 && prop(p) >= end, "%s: nothing waits for %s, because it disappears after %s", name, prop(p), end)
		return found
	}
	return s
}

// suffix returns a number for all but the first, so that the alarms of the first
// stay the same when more are added.
func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprint(i + 1)
}
