package infra

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// QueueProps are the props of [IdempotentFunction.AddQueue]. The zero value of every field is
// its default.
type QueueProps struct {
	// BatchSize is the maximum number of messages of an invocation: 1 to 10,000, or to 10 for a
	// FIFO queue. More than 10 need a BatchingWindow of 1 s. Default: 10, and 1 for a durable
	// function, which handles a batch in one execution.
	BatchSize int

	// BatchingWindow is the time for which Lambda gathers a batch: whole seconds, at most 5 min.
	// FIFO queues have none. Default: 0.
	BatchingWindow time.Duration

	// Configure changes the props of CDK before the queues are created, such as the customer's
	// key and the name. It cannot change those that are set. Default: none.
	Configure func(queue, deadLetters *awssqs.QueueProps)

	// DeadLetterRetention is the retention of the dead-letter queue: whole seconds, 1 min to 14
	// days. It must not be less than Retention, because a message keeps its age when it moves.
	// In a FIFO queue the age starts again, and any value is valid. Default: 14 days.
	DeadLetterRetention time.Duration

	// FIFO makes the queue and its dead-letter queue FIFO. Default: false.
	FIFO bool

	// MaxConcurrency is the maximum number of concurrent invocations: 2 to 1,000, and at most
	// the reserved concurrency of the function, beyond which messages are throttled. Default: 0,
	// only the account's limit.
	MaxConcurrency int

	// MaxReceives is the number of receives after which a message moves to the dead-letter
	// queue: 2 to 1,000. A conflict with a running duplicate also counts. AWS advises at least
	// 5. Default: 5.
	MaxReceives int

	// Retention is how long the queue keeps a message: whole seconds, 1 min to 14 days. Default:
	// 4 days, which is SQS's.
	Retention time.Duration
}

const (
	day          = 24 * time.Hour
	maxKept      = 14 * day       // of a message in SQS
	maxInvisible = 12 * time.Hour // of a message in SQS
)

// A Queue is a queue that feeds a function.
type Queue struct {
	Queue awssqs.IQueue

	// DeadLetters is the dead-letter queue.
	DeadLetters awssqs.IQueue
}

// AddQueue creates a queue with a dead-letter queue, and feeds the function from it. Failures
// are reported by message. A received message is invisible for six timeouts of the function
// plus the batching window, as AWS advises. For a durable function, the timeout of an
// execution counts if it is longer. Both queues refuse requests without TLS. The dead-letter
// queue is retained when its stack is deleted or its construct is renamed, unless the table
// is Ephemeral.
//
// In a FIFO queue, a message that always fails takes those behind it in its group along to the
// dead-letter queue, because SQS counts a receive of each. The option Poison of handlers.SQS
// avoids that. Other groups go on.
//
// AddQueue panics with a [*PropsError] if the ExecutionTimeout of a durable function is more
// than 15 min, because Lambda waits no longer for the whole execution, and if the function's
// records may expire before the last delivery of a message. A message can be redriven at the
// end of DeadLetterRetention, and is then delivered until a second Retention has passed. In a
// FIFO queue, Retention counts twice, because the age starts again in the dead-letter queue.
func (f *IdempotentFunction) AddQueue(id string, props *QueueProps) *Queue {
	p := filled(props, QueueProps{BatchSize: f.batchSize(10), DeadLetterRetention: maxKept, MaxReceives: 5, Retention: 4 * day})
	append(p.refuse(f), refuseID(f.scope, id, "")...).panic(f.scope, id)

	var fifo *bool // false is refused by CloudFormation
	if p.FIFO {
		fifo = jsii.Bool(true)
	}
	ephemeral := f.props.store().ephemeral()
	dead := &awssqs.QueueProps{
		EncryptionMasterKey: f.props.Key, EnforceSSL: jsii.Bool(true), Fifo: fifo, RemovalPolicy: removalPolicy(ephemeral), RetentionPeriod: seconds(p.DeadLetterRetention),
	}
	main := &awssqs.QueueProps{
		DeadLetterQueue: &awssqs.DeadLetterQueue{}, EncryptionMasterKey: f.props.Key, EnforceSSL: jsii.Bool(true), Fifo: fifo,
		RetentionPeriod: seconds(p.Retention), VisibilityTimeout: seconds(p.visibility(f)),
	}
	p.configure(main, dead).panic(f.scope, id)
	own := constructs.NewConstruct(f.scope, &id)
	q := &Queue{DeadLetters: build(own, "", "Configure", func() awssqs.Queue { return newLastQueue(own, "DeadLetters", ephemeral, dead) })}
	*main.DeadLetterQueue = awssqs.DeadLetterQueue{MaxReceiveCount: jsii.Number(p.MaxReceives), Queue: q.DeadLetters}
	q.Queue = build(own, "", "Configure", func() awssqs.Queue { return awssqs.NewQueue(own, jsii.String("Queue"), main) })
	return f.feed(q, &p)
}

// configure calls Configure, and reports the props that it must not change.
func (p *QueueProps) configure(queue, dead *awssqs.QueueProps) (found problems) {
	if p.Configure == nil {
		return nil
	}
	changed := reconfigure(dead, func(*awssqs.QueueProps) {
		found = reconfigure(queue, func(*awssqs.QueueProps) { p.Configure(queue, dead) })
	})
	for _, props := range []*awssqs.QueueProps{queue, dead} {
		named := props.QueueName != nil && !unresolved(*props.QueueName) // CDK makes a queue with such a name FIFO
		found.when(named && strings.HasSuffix(*props.QueueName, ".fifo") != p.FIFO, "Configure: QueueName ends in .fifo if FIFO is set, and only then")
		found.when(!p.FIFO && (props.Fifo != nil || props.ContentBasedDeduplication != nil || props.DeduplicationScope != "" || props.FifoThroughputLimit != ""),
			"Configure: it makes a queue FIFO; set FIFO, which both queues must be")
	}
	return append(found, changed...)
}

// reconfigure lets Configure change props of CDK, and reports those that were set before and
// differ now, except those that may. Pointers differ even if their values are equal.
func reconfigure[P any](props *P, configure func(*P), may ...string) (found problems) {
	was, is := reflect.ValueOf(*props), reflect.ValueOf(props).Elem()
	if configure != nil {
		configure(props)
	}
	for i := range was.NumField() {
		name := was.Type().Field(i).Name
		found.when(!was.Field(i).IsZero() && was.Field(i).Interface() != is.Field(i).Interface() && !slices.Contains(may, name),
			"Configure: %s is set by this construct", name)
	}
	return found
}

// feed connects a queue to the function.
func (f *IdempotentFunction) feed(q *Queue, p *QueueProps) *Queue {
	source := &awslambdaeventsources.SqsEventSourceProps{BatchSize: jsii.Number(p.BatchSize), ReportBatchItemFailures: jsii.Bool(true)}
	if p.BatchingWindow > 0 {
		source.MaxBatchingWindow = seconds(p.BatchingWindow)
	}
	if p.MaxConcurrency > 0 {
		source.MaxConcurrency = jsii.Number(p.MaxConcurrency)
	}
	f.target().AddEventSource(awslambdaeventsources.NewSqsEventSource(q.Queue, source))
	return q
}

func (p *QueueProps) visibility(f *IdempotentFunction) time.Duration {
	return 6*f.props.longest() + p.BatchingWindow
}

// late returns how long after it was sent a message may be delivered: it moves to the
// dead-letter queue at the last moment, and is sent back at the last moment. A retention that is
// unknown counts as 0.
func (p *QueueProps) late() time.Duration {
	if p.FIFO && p.DeadLetterRetention > 0 {
		return p.Retention + p.DeadLetterRetention + p.Retention
	}
	return p.DeadLetterRetention + p.Retention // the former counts from the time of sending
}

// refuse reports mistakes.
func (p *QueueProps) refuse(f *IdempotentFunction) problems {
	most := 10000
	if p.FIFO {
		most = 10
	}
	found := append(f.refuseWait("a queue", maxMappingTime), refuseBatches(p.BatchSize, most, p.BatchingWindow)...)
	found.when(p.BatchSize > 10 && p.BatchSize <= most && p.BatchingWindow < time.Second, "BatchingWindow: a BatchSize of more than 10 needs one of at least 1 s")
	found.when(p.FIFO && p.BatchingWindow != 0, "BatchingWindow: FIFO queues have none")
	found.when(!wholeSeconds(p.DeadLetterRetention, time.Minute, maxKept), "DeadLetterRetention: %s is not whole seconds, 1 min to 14 days", p.DeadLetterRetention)
	found.when(p.MaxConcurrency != 0 && (p.MaxConcurrency < 2 || p.MaxConcurrency > 1000), "MaxConcurrency: %d is not 2 to 1,000", p.MaxConcurrency)
	if function, created := unqualified(f.Function).Node().DefaultChild().(awslambda.CfnFunction); created && function.ReservedConcurrentExecutions() != nil {
		// Lambda begins with five batches at once, and each throttled one counts as a receive.
		most, few := *function.ReservedConcurrentExecutions(), p.MaxConcurrency == 0 && !p.FIFO
		found.when(!unresolved(most) && most > 0 && (float64(p.MaxConcurrency) > most || few && most < 5),
			"MaxConcurrency: the function has ReservedConcurrentExecutions %g, and messages would reach the dead-letter queue without a run; set at most that, or reserve at least 5", most)
	}
	found.when(p.MaxReceives < 2 || p.MaxReceives > 1000, "MaxReceives: %d is not 2 to 1,000", p.MaxReceives)
	found.when(!wholeSeconds(p.Retention, time.Minute, maxKept), "Retention: %s is not whole seconds, 1 min to 14 days", p.Retention)
	found.when(p.visibility(f) > maxInvisible, "BatchingWindow: with six of the function's timeouts it is %s, more than the 12 h that SQS hides a message", p.visibility(f))
	found.when(!p.FIFO && p.DeadLetterRetention < p.Retention,
		"DeadLetterRetention: %s is less than the queue's %s; a message keeps its age when it moves, and an old one would be gone at once",
		p.DeadLetterRetention, p.Retention)
	return append(found, f.refuseExpired(p.late(), "a message may come %s late (the queue keeps it for %s, which FIFO counts twice, the dead-letter queue for %s)",
		p.late(), p.Retention, p.DeadLetterRetention)...)
}

// GrantRedrive allows an operator to send messages of the dead-letter queue back to the
// queue, with the tasks of SQS that move messages: StartMessageMoveTask, ListMessageMoveTasks
// and CancelMessageMoveTask, which also need ReceiveMessage, DeleteMessage and
// GetQueueAttributes on the dead-letter queue, and SendMessage on the queue. If a queue has a
// customer's key, the operator may use it. Do not grant it to functions. A message that is
// moved has a new message ID.
//
// SQS moves messages only out of the dead-letter queues of queues, and not out of the failure
// queues that [IdempotentFunction.AddTopic] and [IdempotentFunction.AddStream] return.
//
// GrantRedrive panics with a [*PropsError] if grantee is nil, or if the dead-letter queue is
// unknown.
func (q *Queue) GrantRedrive(grantee awsiam.IGrantable) awsiam.Grant {
	var found problems
	found.when(grantee == nil, "grantee: it is required")
	found.when(q.DeadLetters == nil, "DeadLetters: the dead-letter queue is unknown; declare it")
	found.panic(q.Queue, "")
	grant := allow(grantee, []*string{q.DeadLetters.QueueArn()}, nil,
		"sqs:CancelMessageMoveTask", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ListMessageMoveTasks", "sqs:ReceiveMessage", "sqs:StartMessageMoveTask")
	grant = grant.Combine(allow(grantee, []*string{q.Queue.QueueArn()}, nil, "sqs:SendMessage"))
	if key := q.DeadLetters.EncryptionMasterKey(); key != nil {
		grant = grant.Combine(allow(grantee, []*string{key.KeyArn()}, nil, "kms:Decrypt"))
	}
	if key := q.Queue.EncryptionMasterKey(); key != nil {
		grant = grant.Combine(allow(grantee, []*string{key.KeyArn()}, nil, "kms:Decrypt", "kms:GenerateDataKey"))
	}
	return grant
}
