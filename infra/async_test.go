package infra

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/template"
)

func sources() map[string]func(*IdempotentFunction) awssqs.Queue {
	return map[string]func(*IdempotentFunction) awssqs.Queue{
		"SNS": func(f *IdempotentFunction) awssqs.Queue {
			return f.AddTopic(awssns.NewTopic(f.scope, jsii.String("Topic"), nil))
		},
		"EventBridge": func(f *IdempotentFunction) awssqs.Queue {
			return f.AddRule(awsevents.NewRule(f.scope, jsii.String("Rule"), &awsevents.RuleProps{
				EventPattern: &awsevents.EventPattern{Source: jsii.Strings("shop")},
			}))
		},
		"S3": func(f *IdempotentFunction) awssqs.Queue {
			return f.AddBucket(awss3.NewBucket(f.scope, jsii.String("Bucket"), nil))
		},
	}
}

// An event that fails for good is not dropped, whatever it came from.
func TestAsynchronous(t *testing.T) {
	for name, add := range sources() {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			add(newFunction(t, stack, longRecords))
			deployed := synth(t, stack)
			got := only(t, deployed, "AWS::Lambda::EventInvokeConfig").Properties()
			want := map[string]any{
				"DestinationConfig":        map[string]any{"OnFailure": map[string]any{"Destination": map[string]any{"Fn::GetAtt": []any{"FunctionAsyncFailures", "Arn"}}}},
				"FunctionName":             map[string]any{"Ref": "Function"},
				"MaximumEventAgeInSeconds": 6 * 3600.0,
				"MaximumRetryAttempts":     2.0,
				"Qualifier":                "$LATEST",
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v", got)
			}
			breakSources(t, deployed, "AWS::Lambda::EventInvokeConfig", map[string]template.Rule{"DestinationConfig": template.DLQ})
		})
	}
}

// A function has one configuration of asynchronous invocation.
func TestAsynchronousSourcesShareAQueue(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	seen := map[string]bool{}
	for _, add := range sources() {
		seen[*add(f).Node().Path()] = true
	}
	only(t, synth(t, stack), "AWS::Lambda::EventInvokeConfig")
	if len(seen) != 1 {
		t.Errorf("queues: %v", seen)
	}
}

// What is in the failure queue is there to be sent again.
func TestAsynchronousOutlivesNoRecord(t *testing.T) {
	for source, age := range map[string]time.Duration{"SNS": 6 * time.Hour, "EventBridge": 12 * time.Hour, "S3": 6 * time.Hour} {
		for name, c := range map[string]struct {
			failures, records time.Duration
			words             string
		}{
			"as long":             {0, 14*day + age, ""},
			"a second too short":  {0, 14*day + age - time.Second, "an event may come " + (14*day + age).String() + " late"},
			"a short queue":       {day, day + age, ""},
			"a long one, by that": {day + time.Second, day + age, "or lower FailureRetention"},
		} {
			t.Run(source+"/"+name, func(t *testing.T) {
				f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.FailureRetention, p.Retention = c.failures, c.records })
				wantRefusal(t, c.words, func() { sources()[source](f) })
			})
		}
	}
}

// The second source of a function is compared too, although the queue is there.
func TestLaterAsynchronousSource(t *testing.T) {
	f := newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Retention = 14*day + 6*time.Hour })
	sources()["SNS"](f)
	wantRefusal(t, "an event may come 348h0m0s late", func() { sources()["EventBridge"](f) })
}

func TestFailureRetention(t *testing.T) {
	stack := newStack()
	sources()["SNS"](newFunction(t, stack, func(p *IdempotentFunctionProps) { p.FailureRetention, p.Retention = day, 2*day }))
	if got := only(t, synth(t, stack), "AWS::SQS::Queue").Properties()["MessageRetentionPeriod"]; got != 86400.0 {
		t.Errorf("got %v", got)
	}
}
