package infra

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

const queueARN = "arn:aws:sqs:eu-west-1:111122223333:orders"

// ownQueue returns a queue of the app with a dead-letter queue that keeps messages for 14
// days.
func ownQueue(stack awscdk.Stack, change func(*awssqs.QueueProps)) awssqs.Queue {
	dead := awssqs.NewQueue(stack, jsii.String("Dead"), &awssqs.QueueProps{RetentionPeriod: seconds(maxKept)})
	props := &awssqs.QueueProps{
		DeadLetterQueue: &awssqs.DeadLetterQueue{MaxReceiveCount: jsii.Number(5), Queue: dead}, VisibilityTimeout: seconds(time.Minute + time.Second),
	}
	if change != nil {
		change(props)
	}
	return awssqs.NewQueue(stack, jsii.String("Orders"), props)
}

func importedQueue(stack awscdk.Stack, arn string) awssqs.IQueue {
	return awssqs.Queue_FromQueueArn(stack, jsii.String("Imported"), &arn)
}

func TestExistingQueue(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	q := f.AddExistingQueue(ownQueue(stack, nil), &ExistingQueueProps{BatchSize: 100, BatchingWindow: time.Second, MaxConcurrency: 5})
	check.Equal(t, *q.DeadLetters.Node().Path(), "S/Dead")
	check.Equal(t, only(t, synth(t, stack), mappingType).Properties(), map[string]any{
		"BatchSize":                      100.0,
		"EventSourceArn":                 arn("Orders"),
		"FunctionName":                   ref("Function"),
		"FunctionResponseTypes":          []any{"ReportBatchItemFailures"},
		"MaximumBatchingWindowInSeconds": 1.0,
		"ScalingConfig":                  map[string]any{"MaximumConcurrency": 5.0},
	})
}

// Messages that are imported without a declaration are fed, and nothing is compared.
func TestImportedQueue(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Retention = time.Hour })
	q := f.AddExistingQueue(importedQueue(stack, queueARN+".fifo"), nil)
	check.Equal(t, q.DeadLetters == nil, true, "no dead-letter queue is known")
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}, Operations: []string{"pay"}})
	mapping := only(t, synth(t, stack), mappingType).Properties()
	check.Equal(t, mapping["EventSourceArn"], queueARN+".fifo")
	check.Equal(t, mapping["FunctionResponseTypes"], []any{"ReportBatchItemFailures"})
}

// A fact of a queue is read or declared, and then compared as one of AddQueue.
func TestExistingQueueRefuses(t *testing.T) {
	const enough = 61 * time.Second
	for name, c := range map[string]struct {
		records time.Duration
		own     func(*awssqs.QueueProps) // of a queue of this app; nil for an import
		props   ExistingQueueProps
		words   string
	}{
		"an own queue":                      {18 * day, keep, ExistingQueueProps{}, ""},
		"records of an own queue":           {18*day - time.Second, keep, ExistingQueueProps{}, "a message may come 432h0m0s late"},
		"records of a long own queue":       {18 * day, func(p *awssqs.QueueProps) { p.RetentionPeriod = seconds(5 * day) }, ExistingQueueProps{}, "a message may come 456h0m0s late"},
		"an own queue without dead letters": {28 * day, func(p *awssqs.QueueProps) { p.DeadLetterQueue = nil }, ExistingQueueProps{}, "queue: it has no dead-letter queue"},
		"the default visibility":            {28 * day, func(p *awssqs.QueueProps) { p.VisibilityTimeout = nil }, ExistingQueueProps{}, "VisibilityTimeout: 30s is less than 1m0s"},
		"a window beyond the visibility":    {28 * day, keep, ExistingQueueProps{BatchingWindow: 2 * time.Second}, "VisibilityTimeout: 1m1s is less than 1m2s"},
		"a wrong visibility":                {28 * day, keep, ExistingQueueProps{VisibilityTimeout: time.Hour}, "VisibilityTimeout: 1h0m0s is declared, and AWS will have 1m1s"},
		"a wrong retention":                 {28 * day, keep, ExistingQueueProps{Retention: day}, "Retention: 24h0m0s is declared, and AWS will have 96h0m0s"},
		"a wrong retention of dead letters": {28 * day, keep, ExistingQueueProps{DeadLetterRetention: 7 * day}, "DeadLetterRetention: 168h0m0s is declared"},
		"a wrong number of receives":        {28 * day, keep, ExistingQueueProps{MaxReceives: 3}, "MaxReceives: 3 is declared, and the queue has 5"},
		"one receive":                       {28 * day, func(p *awssqs.QueueProps) { p.DeadLetterQueue.MaxReceiveCount = jsii.Number(1) }, ExistingQueueProps{}, "MaxReceives: 1 is not 2"},
		"right declarations":                {28 * day, keep, ExistingQueueProps{DeadLetterRetention: maxKept, MaxReceives: 5, Retention: 4 * day, VisibilityTimeout: enough}, ""},
		"a token": {14 * day, func(p *awssqs.QueueProps) {
			p.RetentionPeriod = awscdk.Duration_Seconds(awscdk.Token_AsNumber(awscdk.NewIntrinsic("later", nil)))
		}, ExistingQueueProps{}, ""},
		"an import":                          {time.Hour, nil, ExistingQueueProps{}, ""},
		"records of an import":               {time.Hour, nil, ExistingQueueProps{Retention: day}, "a message may come 24h0m0s late"},
		"records and dead letters":           {2*day - 1, nil, ExistingQueueProps{DeadLetterRetention: day, Retention: day}, "a message may come 48h0m0s late"},
		"dead letters that are gone at once": {28 * day, nil, ExistingQueueProps{DeadLetterRetention: day, Retention: 2 * day}, "DeadLetterRetention: 24h0m0s is less than"},
		"a short visibility":                 {28 * day, nil, ExistingQueueProps{VisibilityTimeout: 59 * time.Second}, "VisibilityTimeout: 59s is less than 1m0s"},
		"an impossible retention":            {400 * day, nil, ExistingQueueProps{Retention: 15 * day}, "Retention: 360h0m0s is not whole seconds"},
		"a batch that is too large":          {28 * day, nil, ExistingQueueProps{BatchSize: 11}, "more than 10 needs one of at least 1 s"},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			f := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Retention = c.records })
			queue := importedQueue(stack, queueARN)
			if c.own != nil {
				queue = ownQueue(stack, c.own)
			}
			wantRefusal(t, c.words, func() { f.AddExistingQueue(queue, &c.props) })
		})
	}
}

func keep(*awssqs.QueueProps) {}

// In a FIFO queue, the age of a message starts again in the dead-letter queue.
func TestExistingFIFOQueueRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		props ExistingQueueProps
		words string
	}{
		"the queue alone":    {ExistingQueueProps{Retention: 4 * day}, ""},
		"dead letters":       {ExistingQueueProps{DeadLetterRetention: day, Retention: 2 * day}, "a message may come 120h0m0s late"},
		"short dead letters": {ExistingQueueProps{DeadLetterRetention: time.Hour, Retention: day}, ""},
		"a large batch":      {ExistingQueueProps{BatchSize: 11}, "BatchSize: 11 is not 1 to 10"},
		"a window":           {ExistingQueueProps{BatchingWindow: time.Second}, "FIFO queues have none"},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			f := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Retention = 4 * day })
			wantRefusal(t, c.words, func() { f.AddExistingQueue(importedQueue(stack, queueARN+".fifo"), &c.props) })
		})
	}
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	dead := importedQueue(stack, queueARN)
	fifo := awssqs.Queue_FromQueueArn(stack, jsii.String("FIFO"), jsii.String(queueARN+".fifo"))
	wantRefusal(t, "DeadLetters: SQS requires two FIFO queues", func() { f.AddExistingQueue(fifo, &ExistingQueueProps{DeadLetters: dead}) })
	own := ownQueue(stack, nil)
	wantRefusal(t, "DeadLetters: the queue has S/Dead", func() { f.AddExistingQueue(own, &ExistingQueueProps{DeadLetters: dead}) })
}

// SQS checks each of these actions when it moves messages.
func TestRedriveIsGranted(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	key := customerKey(stack)
	dead := awskms.Key_FromKeyArn(stack, jsii.String("DeadKey"), jsii.String(keyHere+"2"))
	q := f.AddQueue("Orders", &QueueProps{Configure: func(queue, deadLetters *awssqs.QueueProps) {
		queue.EncryptionMasterKey, deadLetters.EncryptionMasterKey = key, dead
	}})
	role := newRole(stack)
	q.GrantRedrive(role)
	allowed := map[string]string{}
	for _, policy := range synth(t, stack).Resources("AWS::IAM::Policy") {
		if fmt.Sprint(policy.Properties()["Roles"]) == "[map[Ref:Role]]" {
			for _, s := range inPolicy(policy) {
				allowed[fmt.Sprint(s["Resource"])] = fmt.Sprint(s["Action"])
			}
		}
	}
	check.Equal(t, allowed, map[string]string{
		fmt.Sprint(arn("FunctionOrdersDeadLetters")): "[sqs:CancelMessageMoveTask sqs:DeleteMessage sqs:GetQueueAttributes sqs:ListMessageMoveTasks sqs:ReceiveMessage sqs:StartMessageMoveTask]",
		fmt.Sprint(arn("FunctionOrdersQueue")):       "sqs:SendMessage",
		keyHere:                                      "[kms:Decrypt kms:GenerateDataKey]",
		keyHere + "2":                                "kms:Decrypt",
	})
	alone := f.AddExistingQueue(importedQueue(stack, queueARN), nil)
	wantRefusal(t, "DeadLetters: the dead-letter queue is unknown", func() { alone.GrantRedrive(role) })
	wantRefusal(t, "grantee: it is required", func() { q.GrantRedrive(nil) })
}
