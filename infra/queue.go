package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// QueueProps are the props of [IdempotentFunction.AddQueue]. The zero value of every field is
// its default.
type QueueProps struct {
	// Configure changes the props of CDK before the queues and the source are created: names, a
	// customer's key, the size of a batch, a batching window, the concurrency. [Check] examines
	// the result. Default: none.
	Configure func(queue, deadLetters *awssqs.QueueProps, source *awslambdaeventsources.SqsEventSourceProps)

	// FIFO makes the queue and its dead-letter queue FIFO. Default: false. Changed later, it
	// makes new queues and deletes the old ones, with the messages that are left in them.
	FIFO bool

	// MaxReceives is the number of receives after which a message moves to the dead-letter
	// queue. A conflict with a running duplicate also counts. AWS advises at least 5. Default: 5.
	MaxReceives int

	// Retention is how long the queue keeps a message: whole seconds, 1 min to 14 days. Default:
	// 4 days, which is SQS's.
	Retention time.Duration
}

const (
	day     = 24 * time.Hour
	maxKept = 14 * day // of a message in SQS
)

// A Queue is a queue that feeds a function.
type Queue struct {
	Queue awssqs.IQueue

	// DeadLetters is the dead-letter queue.
	DeadLetters awssqs.IQueue
}

// AddQueue creates a queue with a dead-letter queue, which keeps messages for 14 days, and feeds
// the function from it. A batch has up to 10 messages, and 1 for a durable function, which
// handles a batch in one execution. Failures are reported by message. A received message is
// invisible for six timeouts of the function plus the batching window, as AWS advises. For a
// durable function, the timeout of an execution counts if it is longer. Both queues refuse
// requests without TLS. The dead-letter queue is retained when its stack is deleted or its
// construct is renamed, unless the table is Ephemeral.
//
// In a FIFO queue, a message that always fails takes those behind it in its group along to the
// dead-letter queue, because SQS counts a receive of each. The option Poison of handlers.SQS
// avoids that. Other groups go on.
//
// A message can be redriven at the end of the retention of the dead-letter queue, and is then
// delivered until a second Retention has passed. [Check] finds records that expire before. In a
// FIFO queue, Retention counts twice, because the age starts again in the dead-letter queue.
//
// AddQueue panics with a [*PropsError] for props that CDK refuses.
func (f *IdempotentFunction) AddQueue(id string, props *QueueProps) *Queue {
	p := filled(props, QueueProps{MaxReceives: 5, Retention: 4 * day})
	refuseID(f.scope, id, "").panic(f.scope, id)
	return build(f.scope, id, "QueueProps", func() *Queue { return f.newQueue(constructs.NewConstruct(f.scope, &id), &p) })
}

func (f *IdempotentFunction) newQueue(own constructs.Construct, p *QueueProps) *Queue {
	var fifo *bool // false is refused by CloudFormation
	if p.FIFO {
		fifo = jsii.Bool(true)
	}
	dead := &awssqs.QueueProps{EncryptionMasterKey: f.props.Key, Fifo: fifo, RetentionPeriod: seconds(maxKept)}
	queue := &awssqs.QueueProps{EncryptionMasterKey: f.props.Key, EnforceSSL: jsii.Bool(true), Fifo: fifo, RetentionPeriod: seconds(p.Retention)}
	source := &awslambdaeventsources.SqsEventSourceProps{BatchSize: jsii.Number(f.batchSize(10)), ReportBatchItemFailures: jsii.Bool(true)}
	if p.Configure != nil {
		p.Configure(queue, dead, source)
	}
	if queue.VisibilityTimeout == nil {
		queue.VisibilityTimeout = seconds(6 * f.known.Longest())
		if source.MaxBatchingWindow != nil {
			queue.VisibilityTimeout = queue.VisibilityTimeout.Plus(source.MaxBatchingWindow)
		}
	}
	var found problems
	found.when(queue.DeadLetterQueue != nil, "Configure: it sets DeadLetterQueue; change the props of deadLetters, and set MaxReceives")
	found.panic(own, "")
	made := &Queue{DeadLetters: newLastQueue(own, "DeadLetters", f.props.store().ephemeral(), dead)}
	queue.DeadLetterQueue = &awssqs.DeadLetterQueue{MaxReceiveCount: jsii.Number(p.MaxReceives), Queue: made.DeadLetters}
	made.Queue = awssqs.NewQueue(own, jsii.String("Queue"), queue)
	f.Target().AddEventSource(awslambdaeventsources.NewSqsEventSource(made.Queue, source))
	return made
}

// GrantRedrive allows an operator to send messages of the dead-letter queue back to the
// queue, with "once redrive" or with the tasks of SQS that move all of them. These need
// StartMessageMoveTask, ListMessageMoveTasks and CancelMessageMoveTask, the command needs
// ChangeMessageVisibility and ListDeadLetterSourceQueues, and both need ReceiveMessage,
// DeleteMessage and GetQueueAttributes on the dead-letter queue, and SendMessage on the
// queue. If a queue has a
// customer's key, the operator may use it. Do not grant it to functions. A message that is
// moved has a new message ID.
//
// SQS moves messages only out of the dead-letter queues of queues, and not out of the failure
// queues that [IdempotentFunction.FailureQueue] and [IdempotentFunction.AddStream] return.
//
// GrantRedrive panics with a [*PropsError] if grantee is nil, or if the dead-letter queue is
// unknown.
func (q *Queue) GrantRedrive(grantee awsiam.IGrantable) awsiam.Grant {
	var found problems
	found.when(grantee == nil, "grantee: it is required")
	found.when(q.DeadLetters == nil, "DeadLetters: the dead-letter queue is unknown; declare it")
	found.panic(q.Queue, "")
	grant := allow(grantee, []*string{q.DeadLetters.QueueArn()}, nil,
		"sqs:CancelMessageMoveTask", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl",
		"sqs:ListDeadLetterSourceQueues", "sqs:ListMessageMoveTasks", "sqs:ReceiveMessage", "sqs:StartMessageMoveTask")
	grant = grant.Combine(allow(grantee, []*string{q.Queue.QueueArn()}, nil, "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"))
	if key := q.DeadLetters.EncryptionMasterKey(); key != nil {
		grant = grant.Combine(allow(grantee, []*string{key.KeyArn()}, nil, "kms:Decrypt"))
	}
	if key := q.Queue.EncryptionMasterKey(); key != nil {
		grant = grant.Combine(allow(grantee, []*string{key.KeyArn()}, nil, "kms:Decrypt", "kms:GenerateDataKey"))
	}
	return grant
}
