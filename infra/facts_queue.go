package infra

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
)

// reports finds mappings without ReportBatchItemFailures, which is the default of CDK.
func (x *examined) reports() {
	for _, m := range x.mappings {
		types := m.at.FunctionResponseTypes()
		reported := types != nil && slices.ContainsFunc(*types, func(kind *string) bool { return *kind == "ReportBatchItemFailures" })
		x.when(m.kind != ofBroker && m.kind != ofTopic && !reported, m.at, "set ReportBatchItemFailures of its event source",
			"it invokes %s without ReportBatchItemFailures, and Lambda would delete the messages that failed", *x.f.scope.Node().Path())
	}
}

// oneConsumer finds a queue that feeds two functions, each of which gets a part of the messages.
func (x *examined) oneConsumer() {
	for _, m := range x.queues() {
		for _, other := range every[awslambda.CfnEventSourceMapping](x.app) {
			q := x.mapping(other).queue
			x.when(other != m.at && q != nil && q.path == m.queue.path, m.at, "give each function a queue, for example of one topic",
				"%s is also a source of %s, and each of them gets a part of the messages", m.queue.path, *other.Node().Path())
		}
	}
}

// visibility finds a queue that delivers a message again while it still runs.
func (x *examined) visibility() {
	for _, m := range x.queues() {
		if m.queue.made == nil {
			continue
		}
		window := declared(m.at.MaximumBatchingWindowInSeconds(), time.Second, 0)
		hidden, least := declared(m.queue.made.VisibilityTimeout(), time.Second, 30*time.Second), 6*x.longest()+window
		x.when(hidden > 0 && hidden < least, m.queue.made, "raise VisibilityTimeout of the queue, or lower the timeout of the function",
			"its messages are invisible for %s, which is less than %s, six of the function's timeouts and the batching window", hidden, least)
	}
}

// redrive finds a queue that drops a message that always fails, or gives it up at once.
func (x *examined) redrive() {
	for _, m := range x.queues() {
		if m.queue.made == nil {
			continue
		}
		receives, known := in(m.queue.made, m.queue.made.RedrivePolicy(), "maxReceiveCount").(float64)
		x.when(m.queue.made.RedrivePolicy() == nil, m.queue.made, "set DeadLetterQueue of the queue",
			"it has no dead-letter queue, and would drop a message that always fails")
		x.when(known && receives < 2, m.queue.made, "raise MaxReceiveCount; AWS advises at least 5",
			"a message is given up after %g receive, and a conflict with a running duplicate counts", receives)
	}
}

// deadLetterRetention finds a dead-letter queue that deletes a message as it arrives: a message
// of a standard queue keeps its age when it moves.
func (x *examined) deadLetterRetention() {
	for _, m := range x.queues() {
		dead := x.deadLetters(m.queue)
		if dead == nil || dead.made == nil || m.queue.isFIFO() {
			continue
		}
		own, theirs := m.queue.retention(), dead.retention()
		x.when(theirs > 0 && theirs < own, dead.made, "raise RetentionPeriod of the dead-letter queue, to 14 days",
			"it keeps a message for %s, which is less than the %s of its queue, and a message keeps its age when it moves", theirs, own)
	}
}

// queueRetention finds a queue whose messages outlive the records: moved at the last moment and
// sent back at the last moment. In a FIFO queue, the age starts again when a message moves.
func (x *examined) queueRetention() {
	for _, m := range x.queues() {
		if m.queue.made == nil {
			continue
		}
		own, kept, fifo := m.queue.retention(), time.Duration(0), m.queue.isFIFO()
		if dead := x.deadLetters(m.queue); dead != nil && dead.made != nil {
			kept = dead.retention()
		}
		late := (&QueueProps{FIFO: fifo, DeadLetterRetention: kept, Retention: own}).late()
		x.when(x.f.props.Retention < late, m.queue.made, "raise Config.Retention in the function and Retention in its props, or lower RetentionPeriod of the queues",
			"a message may come %s late, and its record expires after %s", late, x.f.props.Retention)
	}
}

// queues are the mappings of queues.
func (x *examined) queues() []*mapping {
	return slices.DeleteFunc(slices.Clone(x.mappings), func(m *mapping) bool { return m.kind != ofQueue })
}

// longest returns how long a source may wait for the function: a function of the app tells it.
func (x *examined) longest() time.Duration {
	p := x.f.props
	if made, is := x.function().Node().DefaultChild().(awslambda.CfnFunction); is {
		if own := declared(made.Timeout(), time.Second, 3*time.Second); own > 0 {
			p.Timeout = own
		}
	}
	return p.longest()
}

func (q *queueOf) retention() time.Duration {
	return declared(q.made.MessageRetentionPeriod(), time.Second, 4*day)
}

func (q *queueOf) isFIFO() bool {
	if q.made == nil {
		return strings.HasSuffix(*q.name, ".fifo")
	}
	return plain(q.made, q.made.FifoQueue()) == true
}
