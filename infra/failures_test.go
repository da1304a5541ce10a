package infra

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

// addTopic feeds the function from a topic, with the construct of CDK.
func addTopic(f *IdempotentFunction) awssqs.Queue {
	failures, topic := f.FailureQueue(), awssns.NewTopic(f.scope, jsii.String("Topic"), nil)
	f.Target().AddEventSource(awslambdaeventsources.NewSnsEventSource(topic, &awslambdaeventsources.SnsEventSourceProps{DeadLetterQueue: failures}))
	return failures
}

// An event that fails for good is not dropped, whatever its source. A function has one
// configuration of asynchronous invocations.
func TestAsynchronousSourcesShareAQueue(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	for _, source := range sources() {
		if source.age > 0 {
			check.Equal(t, *source.add(f).Node().Path(), "S/Function/AsyncFailures")
		}
	}
	deployed := synth(t, stack)
	check.Equal(t, only(t, deployed, invocationsType).Properties(), map[string]any{
		"DestinationConfig":        map[string]any{"OnFailure": map[string]any{"Destination": arn("FunctionAsyncFailures")}},
		"FunctionName":             ref("Function"),
		"MaximumEventAgeInSeconds": 6 * 3600.0,
		"MaximumRetryAttempts":     2.0,
		"Qualifier":                "$LATEST",
	})
	check.Equal(t, only(t, deployed, "AWS::SQS::Queue").Properties()["MessageRetentionPeriod"], 14*86400.0)
}

// An event can be sent again until the failure queue deletes it.
func TestRecordsOutliveAsynchronousEvents(t *testing.T) {
	for name, source := range sources() {
		if source.age == 0 {
			continue
		}
		for retention, words := range map[time.Duration]string{
			14*day + source.age: "", 14*day + source.age - time.Second: "an event may come " + (14*day + source.age).String() + " late",
		} {
			t.Run(name+"/"+words, func(t *testing.T) {
				stack := newStack()
				source.add(newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Retention = retention }))
				wantFinding(t, words, stack)
			})
		}
	}
	// The event of an execution enters the queue as late as ExecutionTimeout.
	const late = 14*day + 6*time.Hour + 24*time.Hour
	for words, retention := range map[string]time.Duration{"": late, "an event may come 366h0m0s late": late - time.Second} {
		stack := newStack()
		f := newFunction(t, stack, func(p *IdempotentFunctionProps) {
			p.Durable, p.Retention = &DurableOptions{ExecutionTimeout: 24 * time.Hour}, retention
		})
		addTopic(f)
		wantFinding(t, words, stack)
	}
}

// everyQueue makes each queue and each log group that this package makes.
func everyQueue(t *testing.T, ephemeral bool) template.Template {
	t.Helper()
	stack := newStack()
	f := newFunction(t, stack, func(p *IdempotentFunctionProps) {
		longRecords(p)
		p.Table = NewIdempotencyTable(stack, "Records", &IdempotencyTableProps{Ephemeral: ephemeral})
	})
	for _, name := range []string{"SQS", "Kinesis", "EventBridge", "HTTP"} {
		sources()[name].add(f)
	}
	f.AddQueue("Shipments", &QueueProps{FIFO: true})
	newRelay(t, stack, func(p *RelayProps) { p.Outbox = NewOutbox(stack, "Messages", &OutboxProps{Ephemeral: ephemeral}) })
	return synth(t, stack)
}

// CloudFormation deletes a queue whose construct is renamed. The queues of failed
// messages are retained then, and when their stack is deleted.
func TestDeadLettersOutliveTheirStackAndARename(t *testing.T) {
	deployed := everyQueue(t, false)
	for id, policy := range deployed.Resources("AWS::SQS::QueuePolicy") {
		last := strings.Contains(id, "DeadLetters") || strings.Contains(id, "Failures")
		check.Equal(t, policy["DeletionPolicy"] == "Retain", last, id)
		check.Contains(t, policy, "aws:SecureTransport:false", id)
	}
	fates := map[any]int{}
	for id, queue := range deployed.Resources("AWS::SQS::Queue") {
		last := strings.HasSuffix(id, "DeadLetters") || strings.HasSuffix(id, "Failures")
		check.Equal(t, queue["DeletionPolicy"] == "Retain", last, id)
		fates[last]++
	}
	check.Equal(t, fates, map[any]int{true: 5, false: 2})
}

func TestNothingOfAnEphemeralStageIsRetained(t *testing.T) {
	deployed := everyQueue(t, true)
	for id, r := range deployed.Resources("AWS::SQS::Queue", "AWS::SQS::QueuePolicy", "AWS::Logs::LogGroup") {
		check.Equal(t, r["DeletionPolicy"] == "Retain", false, id)
	}
	for _, id := range []string{"Records", "Messages"} {
		wantFate(t, deployed.Resources()[id], "Delete")
	}
}
