package infra

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"
)

// newDurable makes a durable function whose records outlive every source.
func newDurable(t *testing.T, stack awscdk.Stack, timeout time.Duration) *IdempotentFunction {
	t.Helper()
	return newFunction(t, stack, func(p *IdempotentFunctionProps) {
		p.Durable = &DurableOptions{ExecutionTimeout: timeout, Retention: 30 * day}
		p.Retention = 60 * day
		p.Operations = []string{"pay"}
	})
}

// everySource adds one source of each kind to a function, by the time for which it
// waits.
func everySource() map[string]struct {
	longest time.Duration // 0: it does not wait
	add     func(awscdk.Stack, *IdempotentFunction)
} {
	return map[string]struct {
		longest time.Duration
		add     func(awscdk.Stack, *IdempotentFunction)
	}{
		"a queue": {15 * time.Minute, func(_ awscdk.Stack, f *IdempotentFunction) { f.AddQueue("Queue", nil) }},
		"a stream": {15 * time.Minute, func(stack awscdk.Stack, f *IdempotentFunction) {
			f.AddStream("Clicks", awskinesis.NewStream(stack, jsii.String("Stream"), nil), nil)
		}},
		"a stream of a table": {15 * time.Minute, func(stack awscdk.Stack, f *IdempotentFunction) {
			f.AddTableStream("Orders", awsdynamodb.NewTableV2(stack, jsii.String("Source"), &awsdynamodb.TablePropsV2{
				DynamoStream: awsdynamodb.StreamViewType_NEW_IMAGE, PartitionKey: stringKey("id"),
			}), nil)
		}},
		"an HTTP API": {30 * time.Second, func(_ awscdk.Stack, f *IdempotentFunction) {
			f.AddHTTPAPI("API", &HTTPAPIProps{Public: true, Routes: []string{"POST /payments"}})
		}},
		"a topic": {0, func(stack awscdk.Stack, f *IdempotentFunction) {
			f.AddTopic(awssns.NewTopic(stack, jsii.String("Topic"), nil))
		}},
		"a rule": {0, func(stack awscdk.Stack, f *IdempotentFunction) {
			f.AddRule(awsevents.NewRule(stack, jsii.String("Rule"), &awsevents.RuleProps{
				Schedule: awsevents.Schedule_Rate(awscdk.Duration_Hours(jsii.Number(1))),
			}))
		}},
		"a bucket": {0, func(stack awscdk.Stack, f *IdempotentFunction) {
			f.AddBucket(awss3.NewBucket(stack, jsii.String("Bucket"), nil))
		}},
	}
}

// A source that stops waiting delivers again, while the execution still runs.
func TestExecutionThatASourceCannotWaitForIsRefused(t *testing.T) {
	for name, source := range everySource() {
		t.Run(name, func(t *testing.T) {
			longest, words := source.longest, "waits for the whole execution"
			if longest == 0 {
				longest, words = 365*day, ""
				longest -= time.Second
			}
			stack := newStack()
			f := newFunction(t, stack, func(p *IdempotentFunctionProps) {
				p.Durable, p.Retention = &DurableOptions{ExecutionTimeout: longest}, 400*day
			})
			wantRefusal(t, "", func() { source.add(stack, f) })
			stack = newStack()
			f = newFunction(t, stack, func(p *IdempotentFunctionProps) {
				p.Durable, p.Retention = &DurableOptions{ExecutionTimeout: longest + time.Second}, 400*day
			})
			wantRefusal(t, words, func() { source.add(stack, f) })
		})
	}
}

// Lambda refuses to invoke a durable function without a version or an alias.
func TestSourcesInvokeTheAliasOfADurableFunction(t *testing.T) {
	for name, source := range everySource() {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			source.add(stack, newDurable(t, stack, 30*time.Second))
			deployed := synth(t, stack)
			for kind, property := range map[string]string{
				"AWS::Lambda::EventSourceMapping": "FunctionName",
				"AWS::Lambda::Permission":         "FunctionName",
				"AWS::ApiGatewayV2::Integration":  "IntegrationUri",
				"AWS::SNS::Subscription":          "Endpoint",
			} {
				for id, r := range deployed.Resources(kind) {
					own := strings.Contains(id, "BucketNotificationsHandler") // CDK's own function
					if got := r.Properties()[property]; !isAlias(got) && !own {
						t.Errorf("%s: %s is %v", id, property, got)
					}
				}
			}
			for _, r := range deployed.Resources("AWS::Events::Rule") {
				if target := r.Properties()["Targets"].([]any)[0].(map[string]any); !isAlias(target["Arn"]) {
					t.Errorf("the rule's target is %v", target)
				}
			}
			for _, r := range deployed.Resources("AWS::Lambda::EventInvokeConfig") {
				if !isAlias(r.Properties()["Qualifier"]) {
					t.Errorf("asynchronous invocations are configured for %v", r.Properties())
				}
			}
		})
	}
}

// isAlias reports whether a value is the alias's ARN, or is made of it: so the alias
// exists before the resource that has the value.
func isAlias(v any) bool { return strings.Contains(fmt.Sprint(v), "map[Ref:FunctionAlias]") }

// Suspended executions continue with the version that they began with.
func TestVersionsOfADurableFunctionAreRetained(t *testing.T) {
	for policy, ephemeral := range map[string]bool{"Retain": false, "Delete": true} {
		stack := newStack()
		newFunction(t, stack, func(p *IdempotentFunctionProps) {
			p.Durable = &DurableOptions{ExecutionTimeout: time.Hour}
			p.Table = NewIdempotencyTable(stack, "Records", &IdempotencyTableProps{Ephemeral: ephemeral})
		})
		deployed := synth(t, stack)
		version := only(t, deployed, "AWS::Lambda::Version")
		got := fmt.Sprint(version["DeletionPolicy"])
		if got == "<nil>" {
			got = "Delete" // which CloudFormation does
		}
		if got != policy {
			t.Errorf("ephemeral is %t: %v", ephemeral, version)
		}
		alias := only(t, deployed, "AWS::Lambda::Alias").Properties()
		if alias["Name"] != "live" || !strings.Contains(fmt.Sprint(alias["FunctionVersion"]), "Version") {
			t.Errorf("the alias is %v", alias)
		}
	}
}

func TestOrdinaryFunctionHasNoAlias(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, nil)
	deployed := synth(t, stack)
	if f.Alias != nil || len(deployed.IDs("AWS::Lambda::Alias", "AWS::Lambda::Version")) > 0 {
		t.Error("it has one")
	}
}

// The ARN of an execution contains its version, never an alias.
func TestDurableFunctionMayReadItsOwnExecutions(t *testing.T) {
	stack := newStack()
	newDurable(t, stack, time.Hour)
	deployed := synth(t, stack)
	own := map[string]any{"Fn::Join": []any{"", []any{map[string]any{"Fn::GetAtt": []any{"Function", "Arn"}}, ":*/durable-execution/*"}}}
	found := false
	for _, f := range deployed.Functions() {
		for _, s := range f.Statements {
			if reflect.DeepEqual(s.Actions, []string{"lambda:GetDurableExecution"}) {
				found = reflect.DeepEqual(s.Resources, []any{own})
			}
		}
		if needs := fmt.Sprint(deployed.Resources()[f.ID]["DependsOn"]); strings.Contains(needs, "Executions") {
			t.Errorf("the function waits for the policy with its own ARN: %s", needs)
		}
	}
	if !found {
		t.Errorf("got %v", deployed.Functions())
	}
}

// A message that becomes visible while its execution runs is delivered in vain.
func TestMessageStaysInvisibleForSixExecutions(t *testing.T) {
	stack := newStack()
	newDurable(t, stack, 15*time.Minute).AddQueue("Queue", nil)
	deployed := synth(t, stack)
	for id, queue := range deployed.Resources("AWS::SQS::Queue") {
		if !strings.HasSuffix(id, "DeadLetters") && queue.Properties()["VisibilityTimeout"] != 5400.0 {
			t.Errorf("%s: %v", id, queue.Properties())
		}
	}
	if size := only(t, deployed, "AWS::Lambda::EventSourceMapping").Properties()["BatchSize"]; size != 1.0 {
		t.Errorf("a batch of %v is one execution", size)
	}
}

// Lambda offers no destinations for durable functions: without a dead-letter queue
// an event whose execution failed is dropped.
func TestFailedEventsOfADurableFunctionAreDeadLetters(t *testing.T) {
	stack := newStack()
	f := newDurable(t, stack, time.Hour)
	f.AddTopic(awssns.NewTopic(stack, jsii.String("Topic"), nil))
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: []*IdempotentFunction{f}})
	deployed := synth(t, stack)
	queue := map[string]any{"Fn::GetAtt": []any{"FunctionAsyncFailures", "Arn"}}
	function := only(t, deployed, "AWS::Lambda::Function").Properties()
	if got := function["DeadLetterConfig"]; !reflect.DeepEqual(got, map[string]any{"TargetArn": queue}) {
		t.Errorf("the dead-letter queue is %v", got)
	}
	invocations := only(t, deployed, "AWS::Lambda::EventInvokeConfig").Properties()
	if !isAlias(invocations["Qualifier"]) || invocations["DestinationConfig"] != nil || invocations["MaximumEventAgeInSeconds"] != 21600.0 {
		t.Errorf("got %v", invocations)
	}
	if last := deployed.Resources()["FunctionAsyncFailures"]; last["DeletionPolicy"] != "Retain" {
		t.Errorf("the queue goes with its stack: %v", last)
	}
	sends := false
	for _, s := range deployed.Functions()[0].Statements {
		sends = sends || strings.Contains(fmt.Sprint(s.Actions), "sqs:SendMessage") && reflect.DeepEqual(s.Resources, []any{queue})
	}
	if !sends {
		t.Error("the function may not send to its dead-letter queue")
	}
	watched := fmt.Sprint(deployed.Resources("AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"))
	if strings.Contains(watched, "DestinationDeliveryFailures") || strings.Count(watched, "DeadLetterErrors") != 2 {
		t.Error("what cannot be delivered is watched by another metric")
	}
}

// An execution may fail as late as its timeout, and its event be sent again after
// that.
func TestRecordsOutliveTheExecutionsOfEvents(t *testing.T) {
	const late = 14*day + 6*time.Hour + 24*time.Hour
	for words, retention := range map[string]time.Duration{"": late, "an event may come 366h0m0s late": late - time.Second} {
		stack := newStack()
		f := newFunction(t, stack, func(p *IdempotentFunctionProps) {
			p.Durable, p.Retention = &DurableOptions{ExecutionTimeout: 24 * time.Hour}, retention
		})
		wantRefusal(t, words, func() { f.AddTopic(awssns.NewTopic(stack, jsii.String("Topic"), nil)) })
	}
}
