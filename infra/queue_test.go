package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

// longRecords suits every queue.
func longRecords(p *IdempotentFunctionProps) { p.Retention = 28 * day }

func TestQueue(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, longRecords).AddQueue("Orders", &QueueProps{
		Configure: func(_, _ *awssqs.QueueProps, source *awslambdaeventsources.SqsEventSourceProps) {
			source.BatchSize, source.MaxBatchingWindow, source.MaxConcurrency = jsii.Number(100), seconds(20*time.Second), jsii.Number(5)
		},
		MaxReceives: 8, Retention: 7 * day,
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

// A record that expires before the last delivery of its message lets the
// message run again.
func TestQueueOutlivesNoRecord(t *testing.T) {
	for name, c := range map[string]struct {
		records time.Duration
		queue   QueueProps
		words   string
	}{
		"defaults":        {0, QueueProps{}, "a message may come 432h0m0s late"},
		"as long":         {18 * day, QueueProps{}, ""},
		"FIFO":            {22 * day, QueueProps{FIFO: true}, ""},
		"FIFO, too short": {22*day - time.Second, QueueProps{FIFO: true}, "a message may come 528h0m0s late"},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Retention = c.records }).AddQueue("Orders", &c.queue)
			wantFinding(t, c.words, stack)
		})
	}
}

// A throttled batch counts as a receive, and its messages reach the dead-letter queue unread.
func TestReservedConcurrencySufficesForTheQueue(t *testing.T) {
	for _, c := range []struct {
		reserved, most float64
		fifo           bool
		words          string
	}{{1, 0, false, "ReservedConcurrentExecutions 1"}, {10, 11, false, "ReservedConcurrentExecutions 10"}, {10, 10, false, ""}, {5, 0, false, ""}, {1, 0, true, ""}, {0, 0, false, ""}} {
		stack := newStack()
		newFunction(t, stack, func(p *IdempotentFunctionProps) {
			p.Retention = 400 * day
			p.Configure = func(p *awslambda.FunctionProps) { p.ReservedConcurrentExecutions = &c.reserved }
		}).AddQueue("Queue", &QueueProps{FIFO: c.fifo, Configure: func(_, _ *awssqs.QueueProps, source *awslambdaeventsources.SqsEventSourceProps) {
			if c.most > 0 {
				source.MaxConcurrency = &c.most
			}
		}})
		wantFinding(t, c.words, stack)
	}
}

// CDK refuses props in words of its own, which are those of a PropsError.
func TestQueueRefuses(t *testing.T) {
	configure := func(change func(queue *awssqs.QueueProps, source *awslambdaeventsources.SqsEventSourceProps)) QueueProps {
		return QueueProps{Configure: func(queue, _ *awssqs.QueueProps, source *awslambdaeventsources.SqsEventSourceProps) {
			change(queue, source)
		}}
	}
	wantRefusals(t, map[string]QueueProps{
		"QueueProps: Maximum batch size": configure(func(_ *awssqs.QueueProps, source *awslambdaeventsources.SqsEventSourceProps) {
			source.BatchSize = jsii.Number(11)
		}),
		"Configure: it sets DeadLetterQueue": configure(func(queue *awssqs.QueueProps, _ *awslambdaeventsources.SqsEventSourceProps) {
			queue.DeadLetterQueue = &awssqs.DeadLetterQueue{}
		}),
		"message retention period must be": {Retention: 30 * time.Second},
		"QueueProps: FIFO queue names": configure(func(queue *awssqs.QueueProps, _ *awslambdaeventsources.SqsEventSourceProps) {
			queue.Fifo, queue.QueueName = jsii.Bool(true), jsii.String("orders")
		}),
	}, func(props QueueProps) { newFunction(t, newStack(), longRecords).AddQueue("Orders", &props) })
}
