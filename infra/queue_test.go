package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

// longRecords suits every queue.
func longRecords(p *IdempotentFunctionProps) { p.Retention = 28 * day }

func TestQueue(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, longRecords).AddQueue("Orders", &QueueProps{
		BatchSize: 100, BatchingWindow: 20 * time.Second, MaxConcurrency: 5, MaxReceives: 8, Retention: 7 * day,
	})
	deployed := synth(t, stack)
	check.Equal(t, only(t, deployed, mappingType).Properties(), map[string]any{
		"BatchSize":                      100.0,
		"EventSourceArn":                 arn("FunctionOrdersQueue"),
		"FunctionName":                   ref("Function"),
		"FunctionResponseTypes":          []any{"ReportBatchItemFailures"},
		"MaximumBatchingWindowInSeconds": 20.0,
		"ScalingConfig":                  map[string]any{"MaximumConcurrency": 5.0},
	})
	queues := deployed.Resources("AWS::SQS::Queue")
	check.Equal(t, queues["FunctionOrdersQueue"].Properties(), map[string]any{
		"MessageRetentionPeriod": 7 * 86400.0,
		"RedrivePolicy":          map[string]any{"deadLetterTargetArn": arn("FunctionOrdersDeadLetters"), "maxReceiveCount": 8.0},
		"VisibilityTimeout":      6*10 + 20.0,
	})
	check.Equal(t, queues["FunctionOrdersDeadLetters"].Properties(), map[string]any{"MessageRetentionPeriod": 14 * 86400.0})
}

func TestFIFOQueue(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, longRecords).AddQueue("Orders", &QueueProps{FIFO: true})
	for id, queue := range synth(t, stack).Resources("AWS::SQS::Queue") {
		check.Equal(t, queue.Properties()["FifoQueue"], true, id)
	}
}

// A record that expires before the last delivery of its message lets the
// message run again.
func TestQueueOutlivesNoRecord(t *testing.T) {
	for name, c := range map[string]struct {
		records time.Duration
		queue   QueueProps
		words   string
	}{
		"defaults":            {0, QueueProps{}, "a message may come 432h0m0s late"},
		"as long":             {18 * day, QueueProps{}, ""},
		"a second too short":  {18*day - time.Second, QueueProps{}, "expires after 431h59m59s"},
		"a short queue":       {2 * day, QueueProps{Retention: day, DeadLetterRetention: day}, ""},
		"a long dead-letter":  {2 * day, QueueProps{Retention: day}, "the dead-letter queue for 336h0m0s"},
		"FIFO":                {22 * day, QueueProps{FIFO: true}, ""},
		"FIFO, too short":     {22*day - time.Second, QueueProps{FIFO: true}, "a message may come 528h0m0s late"},
		"FIFO, short letters": {9 * day, QueueProps{DeadLetterRetention: day, FIFO: true}, ""},
		"the longest of both": {28 * day, QueueProps{Retention: 14 * day}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Retention = c.records })
			wantRefusal(t, c.words, func() { f.AddQueue("Orders", &c.queue) })
		})
	}
}

func TestQueueRefuses(t *testing.T) {
	wantRefusals(t, map[string]QueueProps{
		"BatchSize: 10001 is not 1 to 10000":         {BatchSize: 10001, BatchingWindow: time.Second},
		"BatchSize: -1 is not":                       {BatchSize: -1},
		"BatchSize: 11 is not 1 to 10":               {BatchSize: 11, FIFO: true},
		"more than 10 needs one of at least 1 s":     {BatchSize: 11},
		"BatchingWindow: 6m0s is not":                {BatchingWindow: 6 * time.Minute},
		"BatchingWindow: FIFO queues have none":      {BatchingWindow: time.Second, FIFO: true},
		"DeadLetterRetention: 360h0m0s is not whole": {DeadLetterRetention: 15 * day, Retention: day},
		"DeadLetterRetention: 95h59m59s is less":     {DeadLetterRetention: 4*day - time.Second},
		"MaxConcurrency: 1 is not":                   {MaxConcurrency: 1},
		"MaxReceives: 1 is not":                      {MaxReceives: 1},
		"Retention: 30s is not whole":                {Retention: 30 * time.Second},
	}, func(props QueueProps) { newFunction(t, newStack(), longRecords).AddQueue("Orders", &props) })
}

// A hand on the props of CDK can add to them, and cannot change those that checks rely on.
// A throttled batch counts as a receive, and its messages reach the dead-letter queue unread.
func TestReservedConcurrencySufficesForTheQueue(t *testing.T) {
	for _, c := range []struct {
		reserved, most int
		fifo           bool
		words          string
	}{{1, 0, false, "ReservedConcurrentExecutions 1"}, {10, 11, false, "ReservedConcurrentExecutions 10"}, {10, 10, false, ""}, {5, 0, false, ""}, {1, 0, true, ""}, {0, 0, false, ""}} {
		wantRefusal(t, c.words, func() {
			newFunction(t, newStack(), func(p *IdempotentFunctionProps) {
				p.Retention = 400 * day
				p.Configure = func(p *awslambda.FunctionProps) { p.ReservedConcurrentExecutions = jsii.Number(c.reserved) }
			}).AddQueue("Queue", &QueueProps{FIFO: c.fifo, MaxConcurrency: c.most})
		})
	}
}

func TestQueueIsConfigured(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	key := customerKey(stack)
	f.AddQueue("Orders", &QueueProps{Configure: func(queue, deadLetters *awssqs.QueueProps) {
		queue.Encryption, queue.EncryptionMasterKey = awssqs.QueueEncryption_KMS, key
		deadLetters.QueueName = jsii.String("orders-dead")
	}})
	queues := synth(t, stack).Resources("AWS::SQS::Queue")
	check.Equal(t, queues["FunctionOrdersQueue"].Properties()["KmsMasterKeyId"], keyHere)
	check.Equal(t, queues["FunctionOrdersDeadLetters"].Properties()["QueueName"], "orders-dead")

	wantRefusals(t, map[string]func(queue, dead *awssqs.QueueProps){
		"Configure: VisibilityTimeout is set": func(queue, _ *awssqs.QueueProps) { queue.VisibilityTimeout = seconds(time.Minute) },
		"Configure: RetentionPeriod is set":   func(_, dead *awssqs.QueueProps) { dead.RetentionPeriod = seconds(time.Hour) },
		"Configure: RemovalPolicy is set":     func(_, dead *awssqs.QueueProps) { dead.RemovalPolicy = removalPolicy(true) },
		"Configure: DeadLetterQueue is set":   func(queue, _ *awssqs.QueueProps) { queue.DeadLetterQueue = nil },
		"Configure: EnforceSSL is set":        func(queue, _ *awssqs.QueueProps) { queue.EnforceSSL = nil },
		"Configure: 'encryptionMasterKey' is": func(queue, _ *awssqs.QueueProps) {
			queue.Encryption, queue.EncryptionMasterKey = awssqs.QueueEncryption_SQS_MANAGED, awskms.Key_FromKeyArn(newStack(), jsii.String("Key"), jsii.String(keyHere))
		},
		"Configure: QueueName ends in .fifo": func(_, dead *awssqs.QueueProps) { dead.QueueName = jsii.String("orders.fifo") },
		"Configure: it makes a queue FIFO":   func(queue, _ *awssqs.QueueProps) { queue.ContentBasedDeduplication = jsii.Bool(true) },
	}, func(configure func(queue, dead *awssqs.QueueProps)) {
		newFunction(t, newStack(), longRecords).AddQueue("Orders", &QueueProps{Configure: configure})
	})
	for words, name := range map[string]string{"": "orders.fifo", "QueueName ends in .fifo": "orders"} {
		wantRefusal(t, words, func() {
			newFunction(t, newStack(), longRecords).AddQueue("Orders", &QueueProps{
				Configure: func(queue, _ *awssqs.QueueProps) { queue.QueueName = &name }, FIFO: true,
			})
		})
	}
}
