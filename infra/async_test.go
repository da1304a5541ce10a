package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

func newTopic(f *IdempotentFunction) awssns.Topic {
	return awssns.NewTopic(f.scope, jsii.String("Topic"), nil)
}

// An event that fails for good is not dropped, whatever its source.
func TestAsynchronousSources(t *testing.T) {
	for name, source := range sources() {
		if source.age == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			source.add(newFunction(t, stack, longRecords))
			deployed := synth(t, stack)
			check.Equal(t, only(t, deployed, invocationsType).Properties(), map[string]any{
				"DestinationConfig":        map[string]any{"OnFailure": map[string]any{"Destination": arn("FunctionAsyncFailures")}},
				"FunctionName":             ref("Function"),
				"MaximumEventAgeInSeconds": 6 * 3600.0,
				"MaximumRetryAttempts":     2.0,
				"Qualifier":                "$LATEST",
			})
			breakSources(t, deployed, invocationsType, map[string]template.Rule{"DestinationConfig": template.DLQ})
		})
	}
}

// A function has one configuration of asynchronous invocation.
func TestAsynchronousSourcesShareAQueue(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.FailureRetention, p.Retention = day, 2*day })
	for _, source := range sources() {
		if source.age > 0 {
			check.Equal(t, *source.add(f).Node().Path(), "S/Function/AsyncFailures")
		}
	}
	deployed := synth(t, stack)
	only(t, deployed, invocationsType)
	check.Equal(t, only(t, deployed, "AWS::SQS::Queue").Properties()["MessageRetentionPeriod"], 86400.0)
}

// An event can be sent again until the failure queue deletes it.
func TestRecordsOutliveAsynchronousEvents(t *testing.T) {
	for name, source := range sources() {
		if source.age == 0 {
			continue
		}
		for _, c := range []struct {
			failures, records time.Duration
			words             string
		}{
			{0, 14*day + source.age, ""},
			{0, 14*day + source.age - time.Second, "an event may come " + (14*day + source.age).String() + " late"},
			{day, day + source.age, ""},
			{day + time.Second, day + source.age, "FailureRetention of 24h0m1s"},
		} {
			t.Run(name+"/"+c.words, func(t *testing.T) {
				f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.FailureRetention, p.Retention = c.failures, c.records })
				wantRefusal(t, c.words, func() { source.add(f) })
			})
		}
	}
	// The second source of a function has the queue of the first, and its own age.
	f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Retention = 14*day + 6*time.Hour })
	sources()["SNS"].add(f)
	wantRefusal(t, "an event may come 348h0m0s late", func() { sources()["EventBridge"].add(f) })
	// The event of an execution enters the queue as late as ExecutionTimeout.
	const late = 14*day + 6*time.Hour + 24*time.Hour
	for words, retention := range map[string]time.Duration{"": late, "an event may come 366h0m0s late": late - time.Second} {
		f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) {
			p.Durable, p.Retention = &DurableOptions{ExecutionTimeout: 24 * time.Hour}, retention
		})
		wantRefusal(t, words, func() { f.AddTopic(newTopic(f)) })
	}
}

// The function of CDK that sets notifications keeps those of an imported bucket that
// exist.
func TestImportedBucket(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	f.AddBucket(awss3.Bucket_FromBucketName(stack, jsii.String("Uploads"), jsii.String("uploads")))
	notifications := only(t, synth(t, stack), "Custom::S3BucketNotifications").Properties()
	check.Equal(t, notifications["BucketName"], "uploads")
	check.Equal(t, notifications["Managed"], false)
}
