package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
)

// ExistingQueueProps are the props of [IdempotentFunction.AddExistingQueue]. All but
// BatchSize, BatchingWindow and MaxConcurrency declare facts that an import hides. The facts
// of a queue of this app are read, and need no declaration. The zero value of every field is
// its default.
type ExistingQueueProps struct {
	// BatchSize is as in [QueueProps]. Default: 10, and 1 for a durable function.
	BatchSize int

	// BatchingWindow is as in [QueueProps]. Default: 0.
	BatchingWindow time.Duration

	// DeadLetterRetention is the retention of the dead-letter queue, as in [QueueProps].
	// Default: not declared. Redriven messages are then unchecked.
	DeadLetterRetention time.Duration

	// DeadLetters is the dead-letter queue. Default: not declared. No alarm then watches it. A
	// queue of this app must have one.
	DeadLetters awssqs.IQueue

	// MaxConcurrency is as in [QueueProps]. Default: 0, only the account's limit.
	MaxConcurrency int

	// MaxReceives is as in [QueueProps]. Default: not declared, and unchecked.
	MaxReceives int

	// Retention is how long the queue keeps a message. Default: not declared. The function's
	// records may then expire before the last delivery of a message.
	Retention time.Duration

	// VisibilityTimeout is the time for which a received message is invisible: at least six
	// timeouts of the function plus the batching window, as AWS advises. Lambda refuses less
	// than one timeout. Default: not declared, and unchecked.
	VisibilityTimeout time.Duration
}

// AddExistingQueue feeds the function from a queue that is created elsewhere in the app, or
// imported. Failures are reported by message. Import an encrypted queue with its key, and a
// FIFO queue with its ARN, or with Fifo if the ARN is a token.
//
// AddExistingQueue panics with a [*PropsError] for declared or read facts that
// [IdempotentFunction.AddQueue] refuses, if a declaration differs from the queue, and for a
// queue of this app without a dead-letter queue, which would drop a message that always
// fails.
func (f *IdempotentFunction) AddExistingQueue(queue awssqs.IQueue, props *ExistingQueueProps) *Queue {
	found := f.refuseSource("queue", queue, func() *string { return queue.QueueArn() })
	if queue == nil {
		found.panic(f.scope, "")
	}
	p := filled(props, ExistingQueueProps{BatchSize: f.batchSize(10)})
	found = append(found, p.read(queue)...)
	common := QueueProps{
		BatchSize: p.BatchSize, BatchingWindow: p.BatchingWindow, DeadLetterRetention: p.DeadLetterRetention, FIFO: *queue.Fifo(),
		MaxConcurrency: p.MaxConcurrency, MaxReceives: p.MaxReceives, Retention: p.Retention,
	}
	found = append(found, common.refuse(f)...)
	found.when(p.VisibilityTimeout != 0 && p.VisibilityTimeout < common.visibility(f),
		"VisibilityTimeout: %s is less than %s, six of the function's timeouts plus BatchingWindow; raise that of the queue, or lower Timeout",
		p.VisibilityTimeout, common.visibility(f))
	found.panic(f.scope, *queue.Node().Id())
	return f.feed(&Queue{Queue: queue, DeadLetters: p.DeadLetters}, &common)
}

// read adds the facts of queues of this app, and reports declarations that differ.
func (p *ExistingQueueProps) read(queue awssqs.IQueue) (found problems) {
	if resource, created := queue.Node().DefaultChild().(awssqs.CfnQueue); created {
		found.fact("Retention", &p.Retention, resource.MessageRetentionPeriod(), time.Second, 4*day)
		found.fact("VisibilityTimeout", &p.VisibilityTimeout, resource.VisibilityTimeout(), time.Second, 30*time.Second)
		found.when(resource.RedrivePolicy() == nil, "queue: it has no dead-letter queue, and would drop a message that always fails; set DeadLetterQueue")
	}
	if own, created := queue.(awssqs.Queue); created && own.DeadLetterQueue() != nil {
		redrive := own.DeadLetterQueue()
		found.when(p.DeadLetters != nil && *p.DeadLetters.Node().Path() != *redrive.Queue.Node().Path(), "DeadLetters: the queue has %s", *redrive.Queue.Node().Path())
		p.DeadLetters = redrive.Queue
		if received := int(*redrive.MaxReceiveCount); !unresolved(*redrive.MaxReceiveCount) {
			found.when(p.MaxReceives != 0 && p.MaxReceives != received, "MaxReceives: %d is declared, and the queue has %d", p.MaxReceives, received)
			p.MaxReceives = received
		}
	}
	if p.DeadLetters == nil {
		return found
	}
	found.when(*p.DeadLetters.Fifo() != *queue.Fifo(), "DeadLetters: SQS requires two FIFO queues, or two standard ones")
	if dead, created := p.DeadLetters.Node().DefaultChild().(awssqs.CfnQueue); created {
		found.fact("DeadLetterRetention", &p.DeadLetterRetention, dead.MessageRetentionPeriod(), time.Second, 4*day)
	}
	return found
}
