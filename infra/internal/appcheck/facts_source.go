package appcheck

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/constructs-go/constructs/v10"
)

// reports finds mappings without ReportBatchItemFailures, which is the default of CDK. Of Kafka,
// Lambda takes reports only with provisioned pollers.
func (x *examined) reports() {
	const value = "it invokes %s without ReportBatchItemFailures, and Lambda would delete the messages that failed"
	for _, m := range x.mappings {
		types := m.At.FunctionResponseTypes()
		reported := types != nil && slices.ContainsFunc(*types, func(kind *string) bool { return *kind == "ReportBatchItemFailures" })
		x.when(m.Kind != ofBroker && !reported, m.At, "set ReportBatchItemFailures of its event source", value, *x.f.Scope.Node().Path())
		x.when(m.Kind == OfTopic && plain(m.At, m.At.ProvisionedPollerConfig()) == nil, m.At, "set ProvisionedPollerConfig of its event source",
			"it has no provisioned pollers, and Lambda would take the report of failed records for success")
	}
}

// oneConsumer finds a queue that feeds two functions, each of which gets a part of the messages.
func (x *examined) oneConsumer() {
	for _, m := range x.of(OfQueue) {
		for _, other := range Every[awslambda.CfnEventSourceMapping](x.App) {
			q := x.mapping(other).Queue
			x.when(other != m.At && q != nil && q.Path == m.Queue.Path, m.At, "give each function a queue, for example of one topic",
				"%s is also a source of %s, and each of them gets a part of the messages", m.Queue.Path, *other.Node().Path())
		}
	}
}

// visibility finds a queue that delivers a message again while it still runs.
func (x *examined) visibility() {
	for _, m := range x.ownQueues() {
		window := Declared(m.At.MaximumBatchingWindowInSeconds(), time.Second, 0)
		hidden, least := Declared(m.Queue.made.VisibilityTimeout(), time.Second, 30*time.Second), 6*x.f.Longest()+window
		x.when(hidden > 0 && hidden < least, m.Queue.made, "raise VisibilityTimeout of the queue, or lower the timeout of the function",
			"its messages are invisible for %s, which is less than %s, six of the function's timeouts and the batching window", hidden, least)
	}
}

// redrive finds a queue that drops a message that always fails, or gives it up at once.
func (x *examined) redrive() {
	for _, m := range x.ownQueues() {
		receives, known := In(m.Queue.made, m.Queue.made.RedrivePolicy(), "maxReceiveCount").(float64)
		x.when(m.Queue.made.RedrivePolicy() == nil, m.Queue.made, "set DeadLetterQueue of the queue",
			"it has no dead-letter queue, and would drop a message that always fails")
		x.when(known && receives < 2, m.Queue.made, "raise MaxReceiveCount; AWS advises at least 5",
			"a message is given up after %g receive, and a conflict with a running duplicate counts", receives)
	}
}

// deadLetterRetention finds a dead-letter queue that deletes a message as it arrives: a message
// of a standard queue keeps its age when it moves.
func (x *examined) deadLetterRetention() {
	for _, m := range x.of(OfQueue) {
		dead := x.DeadLetters(m.Queue)
		if dead == nil || m.Queue.isFIFO() {
			continue
		}
		own, theirs := m.Queue.Retention(), dead.Retention()
		x.when(theirs > 0 && theirs < own, dead.made, "raise RetentionPeriod of the dead-letter queue, to 14 days",
			"it keeps a message for %s, which is less than the %s of its queue, and a message keeps its age when it moves", theirs, own)
	}
}

// queueRetention finds a queue whose messages outlive the records: moved at the last moment and
// sent back at the last moment. In a FIFO queue, the age starts again when a message moves.
func (x *examined) queueRetention() {
	for _, m := range x.ownQueues() {
		own, kept := m.Queue.Retention(), x.DeadLetters(m.Queue).Retention()
		late := kept + own // the former counts from the time of sending
		if m.Queue.isFIFO() && kept > 0 {
			late = own + kept + own
		}
		x.expires(late, m.Queue.made, "a message")
	}
}

// expires finds records that expire before an event that comes so late.
func (x *examined) expires(late time.Duration, at constructs.IConstruct, event string) {
	x.when(x.f.Retention < late, at, x.f.Advice+", or lower RetentionPeriod of its queues",
		"%s may come %s late, and %s after %s", event, late, x.f.Expiry, x.f.Retention)
}

// concurrency finds a queue of which Lambda receives more than the function may run: a throttled
// batch counts as a receive, and its messages reach the dead-letter queue without a run. Lambda
// begins with five batches at once.
func (x *examined) concurrency() {
	made, created := x.f.made()
	if !created || made.ReservedConcurrentExecutions() == nil || unresolved(*made.ReservedConcurrentExecutions()) {
		return
	}
	for _, m := range x.of(OfQueue) {
		reserved, begins := *made.ReservedConcurrentExecutions(), 5.0
		if m.Queue.isFIFO() {
			begins = 0
		}
		if own, set := In(m.At, m.At.ScalingConfig(), "maximumConcurrency").(float64); set {
			begins = own
		}
		x.when(reserved > 0 && begins > reserved, m.At, "set at most that as MaxConcurrency of its event source, or reserve at least 5",
			"it begins %g batches at once, and the function has ReservedConcurrentExecutions %g", begins, reserved)
	}
}

// of returns the mappings of a kind.
func (x *examined) of(k Kind) []*Mapping {
	return slices.DeleteFunc(slices.Clone(x.mappings), func(m *Mapping) bool { return m.Kind != k })
}

// ownQueues returns the mappings of queues that the app creates.
func (x *examined) ownQueues() []*Mapping {
	return slices.DeleteFunc(x.of(OfQueue), func(m *Mapping) bool { return m.Queue.made == nil })
}

// Retention returns how long the queue keeps a message, or 0 for none or an import.
func (q *Queue) Retention() time.Duration {
	if q == nil || q.made == nil {
		return 0
	}
	return Declared(q.made.MessageRetentionPeriod(), time.Second, 4*day)
}

func (q *Queue) isFIFO() bool {
	if q.made == nil {
		return strings.HasSuffix(*q.Name, ".fifo")
	}
	return plain(q.made, q.made.FifoQueue()) == true
}

// bisect finds a stream whose whole batch is given up for one bad record.
func (x *examined) bisect() {
	for _, m := range x.of(OfStream) {
		x.when(plain(m.At, m.At.BisectBatchOnFunctionError()) != true, m.At, "set BisectBatchOnError of its event source",
			"a batch is not split when it fails, so that one bad record takes the others along")
	}
}

// streamFailures finds a stream whose records disappear when they are given up.
func (x *examined) streamFailures() {
	for _, m := range x.of(OfStream) {
		x.when(In(m.At, m.At.DestinationConfig(), "onFailure") == nil, m.At, "set OnFailure of its event source",
			"a record that is given up is in no queue")
	}
}

// streamAge finds a stream that deletes a record before it is given up: it would reach no queue,
// and those behind it in the shard neither.
func (x *examined) streamAge() {
	for _, m := range x.of(OfStream) {
		age, retries := Declared(m.At.MaximumRecordAgeInSeconds(), time.Second, -1), m.At.MaximumRetryAttempts()
		endless := age < 0 && (retries == nil || !unresolved(*retries) && *retries < 0)
		x.when(endless, m.At, "set RetryAttempts and MaxRecordAge of its event source",
			"a batch that fails is retried until the stream deletes it, and blocks its shard for as long")
		x.when(m.keeps > 0 && age >= m.keeps, m.At, "set MaxRecordAge to less than the retention of the stream",
			"a record is given up at %s, and the stream keeps it for %s", age, m.keeps)
	}
}

// streamRetention finds a stream, or a topic of Kafka, whose failures outlive the records.
func (x *examined) streamRetention() {
	for _, m := range x.mappings {
		if sink := x.Failures(m.At, m.At.DestinationConfig()); sink != nil && sink.made != nil {
			x.expires(m.GivesUp()+sink.Retention(), m.At, "a record")
		}
	}
}

// asyncRetention finds asynchronous events whose failures outlive the records. Those of a rule
// wait in EventBridge first. Those of a durable function enter its dead-letter queue after the
// execution.
func (x *examined) asyncRetention() {
	waits := time.Duration(0)
	for _, r := range Every[awsevents.CfnRule](x.App) {
		if x.Invokes(x.f, r, r.Targets()) {
			waits = max(waits, ruleAge(r))
		}
	}
	for _, o := range x.Outlets(x.f) {
		if o.Queue != nil && o.Queue.made != nil {
			x.expires(waits+o.age+x.f.Execution+o.Queue.Retention(), o.at, "an event")
		}
	}
}

// ruleAge returns for how long EventBridge tries to deliver an event to the targets of a rule.
func ruleAge(r awsevents.CfnRule) (age time.Duration) {
	targets, _ := plain(r, r.Targets()).([]any)
	for _, target := range targets {
		own := day // the default of EventBridge
		if stated, set := In(r, target, "retryPolicy", "maximumEventAgeInSeconds").(float64); set {
			own = time.Duration(stated) * time.Second
		}
		age = max(age, own)
	}
	return age
}

// asyncFailures finds a topic, a rule, a bucket or a schedule whose events Lambda drops after two
// retries.
func (x *examined) asyncFailures() {
	kept := len(x.Outlets(x.f)) > 0
	const fix = "call FailureQueue of the function, or set its OnFailure with ConfigureAsyncInvoke"
	drops := func(at constructs.IConstruct) {
		x.when(!kept, at, fix, "its events invoke %s, which has no OnFailure: Lambda would drop an event that fails three times", *x.f.Scope.Node().Path())
	}
	for _, p := range Every[awslambda.CfnPermission](x.App) {
		service, _, _ := strings.Cut(*p.Principal(), ".") // a principal without a dot is an account
		if slices.Contains([]string{"sns", "events", "s3"}, service) && x.Invokes(x.f, p, p.FunctionName()) {
			drops(p)
		}
	}
	for _, s := range Every[awsscheduler.CfnSchedule](x.App) {
		if x.Invokes(x.f, s, In(s, s.Target(), "arn")) {
			drops(s)
		}
	}
}
