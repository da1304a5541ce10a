package infra

import (
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
)

// WatchProps are the props of [IdempotentFunction.Watch]. At least one field is required;
// the zero value of every field is its default.
type WatchProps struct {
	// APIs are HTTP APIs in front of the function. Default: none.
	APIs []awsapigatewayv2.IHttpApi

	// Asynchronous says that the function has an on-failure destination for asynchronous
	// invocations, or as a durable function a dead-letter queue. Default: false.
	Asynchronous bool

	// DeadLetters are the dead-letter queues of Queues. Default: none.
	DeadLetters []awssqs.IQueue

	// Failures are queues that receive the events of streams and of asynchronous sources
	// that Lambda has given up. Default: none.
	Failures []awssqs.IQueue

	// QueueRetention is the shortest retention of Queues. AlarmsProps.QueueAge must be less.
	// Default: 0, not declared and not checked.
	QueueRetention time.Duration

	// Queues are the queues that feed the function. Default: none.
	Queues []awssqs.IQueue

	// StreamMaxAge says that streams feed the function. It is the shortest maximum record
	// age of their event source mappings, or the retention of a stream if that is shorter.
	// AlarmsProps.IteratorAge must be less. Default: 0, no streams.
	StreamMaxAge time.Duration
}

// Watch declares event sources that are made elsewhere, for [NewAlarms] and [NewDashboard].
// It creates nothing, and checks neither the sources nor that records outlive their events.
// Call it before them. Sources that the function's own methods add need no Watch.
//
// Watch panics with a [*PropsError] for props that cannot work.
func (f *IdempotentFunction) Watch(props *WatchProps) {
	p := orZero(props)
	p.refuse().panic(f.scope, "")
	for _, api := range p.APIs {
		f.watchServerErrors("the API", api.MetricServerError(metricOptions("Sum")))
	}
	for _, queue := range p.DeadLetters {
		f.watchDeadLetters(queue)
	}
	for _, queue := range p.Failures {
		f.watchFailures(queue)
	}
	for _, queue := range p.Queues {
		f.watchQueue(queue, p.QueueRetention)
	}
	f.delivers = f.delivers || p.Asynchronous
	if p.StreamMaxAge > 0 {
		f.streams = append(f.streams, p.StreamMaxAge)
	}
}

func (p *WatchProps) refuse() (found problems) {
	found.when(len(p.APIs)+len(p.DeadLetters)+len(p.Failures)+len(p.Queues) == 0 && !p.Asynchronous && p.StreamMaxAge == 0, "Queues: there is nothing to watch")
	found.when(slices.Contains(p.APIs, nil), "APIs: one is nil")
	found.when(slices.Contains(p.DeadLetters, nil), "DeadLetters: one is nil")
	found.when(slices.Contains(p.Failures, nil), "Failures: one is nil")
	found.when(slices.Contains(p.Queues, nil), "Queues: one is nil")
	found.when(p.QueueRetention < 0 || p.QueueRetention > maxKept, "QueueRetention: %s is not 0 to 14 days", p.QueueRetention)
	found.when(p.StreamMaxAge < 0 || p.StreamMaxAge > 365*day, "StreamMaxAge: %s is not 0 to 365 days", p.StreamMaxAge)
	return found
}
