package infra

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
)

// A signal is a metric of a function or of one of its event sources, with the alarm on
// it and its graph. Each source adds its own, so that alarms.go and dashboard.go know
// none of them.
type signal struct {
	id        string // the end of the alarm's id
	advice    string
	graph     string // title of its graph; signals with one title share it
	metric    awscloudwatch.IMetric
	threshold func(*AlarmsProps) float64
	refuse    func(*AlarmsProps) problems // may be nil
}

// Titles of graphs.
const (
	failing = "Errors and throttles"
	givenUp = "Given up: dead letters and failures"
	waiting = "Age of the oldest message, s"
	behind  = "Behind the stream, ms"
)

// watched returns the signals of the function and of its sources.
func (f *IdempotentFunction) watched() []signal {
	all := append(invocations(f.Function), f.signals...)
	if f.asyncSink != nil {
		all = append(all, signal{
			id: "Undelivered", advice: "Lambda cannot put events into the failure queue, and drops them. Check the permissions of the function's role.",
			graph: failing, metric: lambdaMetric(f.Function, f.undelivered(), "Sum"), threshold: fixed(1),
		})
	}
	if f.streams {
		all = append(all, signal{
			id: "IteratorAge", advice: "the function is behind its stream. A record blocks a shard, or the function is too slow.",
			graph: behind, metric: lambdaMetric(f.Function, "IteratorAge", "Maximum"),
			threshold: func(p *AlarmsProps) float64 { return float64(p.IteratorAge.Milliseconds()) },
		})
	}
	return all
}

func (r *Relay) watched() []signal {
	return append(invocations(r.Function),
		signal{
			id:     "Failures",
			advice: "Lambda has given up on messages of the outbox. Repair the cause of their failure, publish the messages without a mark, and empty the queue.",
			graph:  givenUp, metric: r.Failures.MetricApproximateNumberOfMessagesVisible(metricOptions("Maximum")), threshold: fixed(1),
		},
		signal{
			id:     "IteratorAge",
			advice: "messages wait too long in the outbox. A destination refuses one, which blocks its shard, or the relay is too slow.",
			graph:  behind, metric: lambdaMetric(r.Function, "IteratorAge", "Maximum"),
			threshold: func(p *AlarmsProps) float64 { return float64(p.OutboxAge.Milliseconds()) },
		})
}

func invocations(function awslambda.IFunction) []signal {
	return []signal{
		{
			id: "Errors", advice: "invocations fail. See the function's log; without a line there, it does not start.",
			graph: failing, metric: lambdaMetric(function, "Errors", "Sum"), threshold: func(p *AlarmsProps) float64 { return float64(p.Errors) },
		},
		{
			id: "Throttles", advice: "Lambda throttles the function. See its concurrency, and the account's.",
			graph: failing, metric: lambdaMetric(function, "Throttles", "Sum"), threshold: func(p *AlarmsProps) float64 { return float64(p.Throttles) },
		},
	}
}

// watchServerErrors adds the metric of the responses with status 5xx of an event source.
func (f *IdempotentFunction) watchServerErrors(source string, metric awscloudwatch.IMetric) {
	f.signals = append(f.signals, signal{
		id: "ServerErrors", advice: source + " returns 5xx. The function fails, runs too long, or does not exist.",
		graph: failing, metric: metric, threshold: func(p *AlarmsProps) float64 { return float64(p.ServerErrors) },
	})
}

// watchFailures adds a queue of events that Lambda has given up.
func (f *IdempotentFunction) watchFailures(queue awssqs.IQueue) {
	f.signals = append(f.signals, signal{
		id: "Failures", advice: "Lambda has given up on events. Repair the cause of their failure, and send them again.",
		graph: givenUp, metric: queue.MetricApproximateNumberOfMessagesVisible(metricOptions("Maximum")), threshold: fixed(1),
	})
}

// watchLag adds the number of records of a topic that wait for the function.
func (f *IdempotentFunction) watchLag(most int) {
	f.signals = append(f.signals, signal{
		id: "OffsetLag", advice: "the function is behind its topic. Records fail, or the function is too slow.",
		graph: "Behind the topic, records", metric: lambdaMetric(f.Function, "OffsetLag", "Maximum"), threshold: fixed(float64(most)),
	})
}

// watchQueue adds a queue, whose retention is 0 if it is unknown, and its dead-letter
// queue, which may be nil.
func (f *IdempotentFunction) watchQueue(queue, deadLetters awssqs.IQueue, retention time.Duration) {
	options := metricOptions("Maximum")
	if deadLetters != nil {
		f.signals = append(f.signals, signal{
			id: "DeadLetters", advice: "messages are in the dead-letter queue. Repair the cause of their failure, and send them back.",
			graph: givenUp, metric: deadLetters.MetricApproximateNumberOfMessagesVisible(options), threshold: fixed(1),
		})
	}
	f.signals = append(f.signals, signal{
		id: "QueueAge", advice: "the oldest message waits too long. The function fails, or is too slow for the load.",
		graph: waiting, metric: queue.MetricApproximateAgeOfOldestMessage(options),
		threshold: func(p *AlarmsProps) float64 { return ageOr(p.QueueAge, retention).Seconds() },
		refuse: func(p *AlarmsProps) (found problems) {
			found.when(retention > 0 && p.QueueAge >= retention, "QueueAge: no message of %s reaches the age of %s, its retention is %s",
				*queue.Node().Path(), p.QueueAge, retention)
			return found
		},
	})
}

func fixed(threshold float64) func(*AlarmsProps) float64 {
	return func(*AlarmsProps) float64 { return threshold }
}

// ageOr returns an age, or by default 1 h, but at most half of the age at which events
// disappear, if that is known.
func ageOr(age, end time.Duration) time.Duration {
	switch {
	case age != 0:
		return age
	case end == 0:
		return time.Hour
	}
	return min(time.Hour, end/2)
}

// suffix returns a number for all but the first, so that the alarms of the first
// stay the same when more are added.
func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprint(i + 1)
}
