package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// QueueProps are the props of [IdempotentFunction.AddQueue]. The zero value of
// every field is its default.
type QueueProps struct {
	// BatchSize is how many messages an invocation gets at most: 1 to 10,000,
	// of a FIFO queue to 10. More than 10 need a BatchingWindow of 1 s.
	//
	// Default: 10.
	BatchSize int

	// BatchingWindow is how long Lambda gathers a batch: whole seconds, to
	// 5 min; none with FIFO.
	//
	// Default: 0.
	BatchingWindow time.Duration

	// DeadLetterRetention is how long the dead-letter queue keeps a message:
	// whole seconds, 1 min to 14 days, and not less than Retention but with
	// FIFO. A message takes its age along; in a FIFO queue it starts anew.
	//
	// Default: 14 days.
	DeadLetterRetention time.Duration

	// FIFO makes the queue and its dead-letter queue FIFO.
	//
	// Default: false.
	FIFO bool

	// MaxConcurrency is how many invocations run at once: 2 to 1,000.
	//
	// Default: 0, no limit but the account's.
	MaxConcurrency int

	// MaxReceives is how often a message is received before it goes to the
	// dead-letter queue: 2 to 1,000. A message whose twin is running uses one
	// up; AWS advises against less than 5.
	//
	// Default: 5.
	MaxReceives int

	// Retention is how long the queue keeps a message: whole seconds, 1 min
	// to 14 days.
	//
	// Default: 4 days, which is SQS's.
	Retention time.Duration
}

const (
	day          = 24 * time.Hour
	maxKept      = 14 * day       // of a message in SQS
	maxInvisible = 12 * time.Hour // of a message in SQS
)

// Queue is a queue that feeds a function.
type Queue struct {
	Queue       awssqs.Queue
	DeadLetters awssqs.Queue

	props QueueProps
}

// AddQueue makes a queue with a dead-letter queue and feeds the function from
// it. Failures are reported by message, and a message that is being worked on
// stays invisible for six timeouts of the function and the batching window, as
// AWS advises. Both queues refuse requests without TLS. The dead-letter queue
// stays when its stack goes or its construct is renamed, unless the table is
// Ephemeral.
//
// It panics with a [*PropsError] if the function's records are over before a
// message: a redrive out of the dead-letter queue comes as late as that one's
// retention, and starts the queue's anew. FIFO queues count from the move to the
// dead-letter queue, which makes the queue's retention count twice.
func (f *IdempotentFunction) AddQueue(id string, props *QueueProps) *Queue {
	p := props.withDefaults()
	append(p.refuse(f), refuseID(f.scope, id, "")...).panic(f.scope, id)

	own := constructs.NewConstruct(f.scope, &id)
	var fifo *bool // false is refused by CloudFormation
	if p.FIFO {
		fifo = jsii.Bool(true)
	}
	dead := newLastQueue(own, "DeadLetters", f.props.Table.props.Ephemeral, &awssqs.QueueProps{
		Fifo: fifo, RetentionPeriod: seconds(p.DeadLetterRetention),
	})
	queue := awssqs.NewQueue(own, jsii.String("Queue"), &awssqs.QueueProps{
		DeadLetterQueue:   &awssqs.DeadLetterQueue{MaxReceiveCount: jsii.Number(p.MaxReceives), Queue: dead},
		EnforceSSL:        jsii.Bool(true),
		Fifo:              fifo,
		RetentionPeriod:   seconds(p.Retention),
		VisibilityTimeout: seconds(p.visibility(f)),
	})
	source := &awslambdaeventsources.SqsEventSourceProps{
		BatchSize:               jsii.Number(p.BatchSize),
		ReportBatchItemFailures: jsii.Bool(true),
	}
	if p.BatchingWindow > 0 {
		source.MaxBatchingWindow = seconds(p.BatchingWindow)
	}
	if p.MaxConcurrency > 0 {
		source.MaxConcurrency = jsii.Number(p.MaxConcurrency)
	}
	f.Function.AddEventSource(awslambdaeventsources.NewSqsEventSource(queue, source))
	q := &Queue{Queue: queue, DeadLetters: dead, props: p}
	f.queues = append(f.queues, q)
	return q
}

func (p *QueueProps) visibility(f *IdempotentFunction) time.Duration {
	return 6*f.props.Timeout + p.BatchingWindow
}

// late is how long after it was sent a message may be delivered: it moves to
// the dead-letter queue at the last moment, and is sent back at the last moment.
func (p *QueueProps) late() time.Duration {
	if p.FIFO {
		return p.Retention + p.DeadLetterRetention + p.Retention
	}
	return p.DeadLetterRetention + p.Retention // the first is counted from when it was sent
}

func (p *QueueProps) withDefaults() QueueProps {
	if p == nil {
		p = &QueueProps{}
	}
	filled := *p
	if filled.BatchSize == 0 {
		filled.BatchSize = 10
	}
	if filled.DeadLetterRetention == 0 {
		filled.DeadLetterRetention = maxKept
	}
	if filled.MaxReceives == 0 {
		filled.MaxReceives = 5
	}
	if filled.Retention == 0 {
		filled.Retention = 4 * day
	}
	return filled
}

func (p *QueueProps) refuse(f *IdempotentFunction) problems {
	var found problems
	most := 10000
	if p.FIFO {
		most = 10
	}
	found.when(p.BatchSize < 1 || p.BatchSize > most, "BatchSize: %d is not 1 to %d", p.BatchSize, most)
	found.when(p.BatchSize > 10 && p.BatchSize <= most && p.BatchingWindow < time.Second, "BatchingWindow: a BatchSize of more than 10 needs one of at least 1 s")
	found.when(!wholeSeconds(p.BatchingWindow, 0, 5*time.Minute), "BatchingWindow: %s is not whole seconds, to 5 min", p.BatchingWindow)
	found.when(p.FIFO && p.BatchingWindow != 0, "BatchingWindow: FIFO queues have none")
	found.when(!wholeSeconds(p.DeadLetterRetention, time.Minute, maxKept), "DeadLetterRetention: %s is not whole seconds, 1 min to 14 days", p.DeadLetterRetention)
	found.when(p.MaxConcurrency != 0 && (p.MaxConcurrency < 2 || p.MaxConcurrency > 1000), "MaxConcurrency: %d is not 2 to 1,000", p.MaxConcurrency)
	found.when(p.MaxReceives < 2 || p.MaxReceives > 1000, "MaxReceives: %d is not 2 to 1,000", p.MaxReceives)
	found.when(!wholeSeconds(p.Retention, time.Minute, maxKept), "Retention: %s is not whole seconds, 1 min to 14 days", p.Retention)
	found.when(p.visibility(f) > maxInvisible, "BatchingWindow: with six of the function's timeouts it is %s, more than the 12 h that SQS hides a message", p.visibility(f))
	found.when(!p.FIFO && p.DeadLetterRetention < p.Retention,
		"DeadLetterRetention: %s is less than the queue's %s; a message keeps its age when it moves, and an old one would be gone at once",
		p.DeadLetterRetention, p.Retention)
	found.when(f.props.Retention < p.late(),
		"Retention: a message may come %s late (the queue keeps it for %s, which FIFO counts twice, the dead-letter queue for %s), when its record is over after %s; "+
			"raise Config.Retention in the function and IdempotentFunctionProps.Retention",
		p.late(), p.Retention, p.DeadLetterRetention, f.props.Retention)
	return found
}
