package infra

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
)

// reports finds mappings without ReportBatchItemFailures, which is the default of CDK. Of Kafka,
// Lambda takes reports only with provisioned pollers.
func (x *examined) reports() {
	const value = "it invokes %s without ReportBatchItemFailures, and Lambda would delete the messages that failed"
	for _, m := range x.mappings {
		types := m.at.FunctionResponseTypes()
		reported := types != nil && slices.ContainsFunc(*types, func(kind *string) bool { return *kind == "ReportBatchItemFailures" })
		x.when(m.kind != ofBroker && !reported, m.at, "set ReportBatchItemFailures of its event source", value, *x.f.scope.Node().Path())
		x.when(m.kind == ofTopic && plain(m.at, m.at.ProvisionedPollerConfig()) == nil, m.at, "set ProvisionedPollerConfig of its event source",
			"it has no provisioned pollers, and Lambda would take the report of failed records for success")
	}
}

// oneConsumer finds a queue that feeds two functions, each of which gets a part of the messages.
func (x *examined) oneConsumer() {
	for _, m := range x.of(ofQueue) {
		for _, other := range every[awslambda.CfnEventSourceMapping](x.app) {
			q := x.mapping(other).queue
			x.when(other != m.at && q != nil && q.path == m.queue.path, m.at, "give each function a queue, for example of one topic",
				"%s is also a source of %s, and each of them gets a part of the messages", m.queue.path, *other.Node().Path())
		}
	}
}

// visibility finds a queue that delivers a message again while it still runs.
func (x *examined) visibility() {
	for _, m := range x.of(ofQueue) {
		if m.queue.made == nil {
			continue
		}
		window := declared(m.at.MaximumBatchingWindowInSeconds(), time.Second, 0)
		hidden, least := declared(m.queue.made.VisibilityTimeout(), time.Second, 30*time.Second), 6*x.f.longest()+window
		x.when(hidden > 0 && hidden < least, m.queue.made, "raise VisibilityTimeout of the queue, or lower the timeout of the function",
			"its messages are invisible for %s, which is less than %s, six of the function's timeouts and the batching window", hidden, least)
	}
}

// redrive finds a queue that drops a message that always fails, or gives it up at once.
func (x *examined) redrive() {
	for _, m := range x.of(ofQueue) {
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
	for _, m := range x.of(ofQueue) {
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
	for _, m := range x.of(ofQueue) {
		if m.queue.made == nil {
			continue
		}
		own, kept := m.queue.retention(), time.Duration(0)
		if dead := x.deadLetters(m.queue); dead != nil && dead.made != nil {
			kept = dead.retention()
		}
		late := kept + own // the former counts from the time of sending
		if m.queue.isFIFO() && kept > 0 {
			late = own + kept + own
		}
		x.expires(late, m.queue.made, "a message")
	}
}

// expires finds records that expire before an event that comes so late.
func (x *examined) expires(late time.Duration, at constructs.IConstruct, event string) {
	end, advice := x.f.props.store().expiry()
	x.when(x.f.props.Retention < late, at, advice+", or lower RetentionPeriod of its queues",
		"%s may come %s late, and %s after %s", event, late, end, x.f.props.Retention)
}

// concurrency finds a queue of which Lambda receives more than the function may run: a throttled
// batch counts as a receive, and its messages reach the dead-letter queue without a run. Lambda
// begins with five batches at once.
func (x *examined) concurrency() {
	made, created := x.function().Node().DefaultChild().(awslambda.CfnFunction)
	if !created || made.ReservedConcurrentExecutions() == nil || unresolved(*made.ReservedConcurrentExecutions()) {
		return
	}
	for _, m := range x.of(ofQueue) {
		reserved, begins := *made.ReservedConcurrentExecutions(), 5.0
		if m.queue.isFIFO() {
			begins = 0
		}
		if own, set := in(m.at, m.at.ScalingConfig(), "maximumConcurrency").(float64); set {
			begins = own
		}
		x.when(reserved > 0 && begins > reserved, m.at, "set at most that as MaxConcurrency of its event source, or reserve at least 5",
			"it begins %g batches at once, and the function has ReservedConcurrentExecutions %g", begins, reserved)
	}
}

// of returns the mappings of a kind.
func (x *examined) of(k kind) []*mapping {
	return slices.DeleteFunc(slices.Clone(x.mappings), func(m *mapping) bool { return m.kind != k })
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
