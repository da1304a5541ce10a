package infra

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

// The function's role may make checkpoints, which CDK sees to. The page shows the
// same for SAM.
func TestDurableFunctionHasItsConfigAndMayMakeCheckpoints(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, func(p *IdempotentFunctionProps) {
		p.Durable = &DurableOptions{ExecutionTimeout: 24 * time.Hour, Retention: 28 * day}
	})
	deployed := synth(t, stack)
	config := only(t, deployed, "AWS::Lambda::Function").Properties()["DurableConfig"]
	check.Equal(t, fmt.Sprint(config), "map[ExecutionTimeout:86400 RetentionPeriodInDays:28]")
	const policy = "service-role/AWSLambdaBasicDurableExecutionRolePolicy"
	check.Contains(t, deployed.Resources("AWS::IAM::Role"), policy)
	page, err := os.ReadFile("../docs/durable.md")
	check.Must(t, err)
	for _, line := range []string{"  ExecutionTimeout: 86400 ", "  RetentionPeriodInDays: 28\n", "AutoPublishAlias: live ", "  - arn:aws:iam::aws:policy/" + policy + "\n"} {
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/durable.md has no %q", line)
		}
	}
}

func TestDurableFunctionRefuses(t *testing.T) {
	wantRefusals(t, map[string]DurableOptions{
		"":                       {ExecutionTimeout: 366 * day, Retention: 90 * day},
		"ExecutionTimeout: 0s":   {},
		"ExecutionTimeout: 1.5s": {ExecutionTimeout: 1500 * time.Millisecond},
		"ExecutionTimeout: 8808": {ExecutionTimeout: 367 * day},
		"Retention: 36h0m0s":     {ExecutionTimeout: time.Hour, Retention: 36 * time.Hour},
		"Retention: 2184h0m0s":   {ExecutionTimeout: time.Hour, Retention: 91 * day},
		"Retention: -24h0m0s":    {ExecutionTimeout: time.Hour, Retention: -day},
	}, func(o DurableOptions) {
		newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Durable = &o })
	})
}

// Lambda makes a function durable only when it creates it, and refuses the update of one.
// A name that is fixed is taken when the new function is created.
func TestFunctionThatBecomesDurableIsReplaced(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, durable(time.Hour))
	check.Equal(t, synth(t, stack).IDs("AWS::Lambda::Function"), []string{"FunctionDurable"}, "a logical id of its own")
	named := func(p *IdempotentFunctionProps) {
		p.Configure = func(f *awslambda.FunctionProps) { f.FunctionName = jsii.String("pay") }
	}
	wantRefusal(t, "", func() { newFunction(t, newStack(), named) })
	wantRefusal(t, "it changes FunctionName; Lambda makes a function durable only when it creates it", func() {
		newFunction(t, newStack(), func(p *IdempotentFunctionProps) { durable(time.Hour)(p); named(p) })
	})
}

// The history of an execution has the input, each step and the result in it.
func TestKeyEncryptsTheHistoriesOfADurableFunction(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, func(p *IdempotentFunctionProps) { durable(time.Hour)(p); p.Key = ownKey(stack) })
	reader := NewIdempotentFunction(stack, "Reader", &IdempotentFunctionProps{Code: zip(t), Table: f.props.Table})
	f.GrantReadExecutions(reader.Function)
	deployed := synth(t, stack)
	config := deployed.Resources()["FunctionDurable"].Properties()["DurableConfig"].(map[string]any)
	check.Equal(t, config["KMSKeyArn"], any(arn("Key")))
	check.Equal(t, config["ExecutionTimeout"], any(3600.0))
	check.Equal(t, users(t, deployed)["lambda.amazonaws.com"], "[kms:Decrypt kms:GenerateDataKey*] "+
		"map[ArnLike:map[kms:EncryptionContext:aws:lambda:FunctionArn:map[Fn::Join:[ [arn: map[Ref:AWS::Partition] :lambda:eu-west-1:111122223333:function:*]]]] "+
		"StringEquals:map[aws:SourceAccount:111122223333]]")
	for _, f := range deployed.Functions() {
		check.Contains(t, fmt.Sprint(f.Statements), "kms:Decrypt", f.ID)
	}
}

// A source that stops waiting delivers again, while the execution still runs.
func TestExecutionThatASourceCannotWaitForIsFound(t *testing.T) {
	for name, source := range sources() {
		t.Run(name, func(t *testing.T) {
			longest, words := source.longest, "for a function that may run for"
			if longest == 0 {
				longest, words = 365*day, ""
			}
			for over, want := range map[time.Duration]string{0: "", time.Second: words} {
				stack := newStack()
				source.add(newFunction(t, stack, func(p *IdempotentFunctionProps) { durable(longest + over)(p); p.Retention = 800 * day }))
				wantFinding(t, want, stack)
			}
		})
	}
}

// Lambda refuses to invoke a durable function without a version or an alias, and CodeDeploy shifts
// the calls of the alias alone.
func TestSourcesInvokeTheAlias(t *testing.T) {
	for kind, change := range map[string]func(*IdempotentFunctionProps){"durable": durable(30 * time.Second), "live": live(0)} {
		for name, source := range sources() {
			t.Run(kind+"/"+name, func(t *testing.T) {
				stack := newStack()
				source.add(newFunction(t, stack, change))
				deployed := synth(t, stack)
				for kind, property := range map[string]string{
					mappingType:                      "FunctionName",
					invocationsType:                  "Qualifier",
					"AWS::Lambda::Permission":        "FunctionName",
					"AWS::ApiGatewayV2::Integration": "IntegrationUri",
					"AWS::SNS::Subscription":         "Endpoint",
					"AWS::Events::Rule":              "Targets",
				} {
					for id, r := range deployed.Resources(kind) {
						own := strings.Contains(id, "BucketNotificationsHandler")                   // CDK's own function
						former := kind == invocationsType && strings.HasPrefix(id, "FunctionEvent") // of events from before the alias
						if got := r.Properties()[property]; !isAlias(got) && !own && !former {
							t.Errorf("%s: %s is %v", id, property, got)
						}
					}
				}
			})
		}
	}
}

// isAlias reports whether a value is the alias's ARN, or is made of it. The alias then
// exists before the resource that has the value.
func isAlias(v any) bool { return strings.Contains(fmt.Sprint(v), "map[Ref:FunctionAlias]") }

// Suspended executions continue with the version that they began with.
func TestVersionsOfADurableFunctionAreRetained(t *testing.T) {
	for ephemeral, policy := range map[bool]string{false: "Retain", true: "Delete"} {
		stack := newStack()
		newFunction(t, stack, func(p *IdempotentFunctionProps) {
			p.Durable = &DurableOptions{ExecutionTimeout: time.Hour}
			p.Table = NewIdempotencyTable(stack, "Records", &IdempotencyTableProps{Ephemeral: ephemeral})
		})
		deployed := synth(t, stack)
		check.Equal(t, only(t, deployed, "AWS::Lambda::Version")["DeletionPolicy"], policy, "ephemeral", ephemeral)
		alias := only(t, deployed, "AWS::Lambda::Alias").Properties()
		check.Equal(t, alias["Name"], "live")
		check.Contains(t, alias["FunctionVersion"], "Version")
	}
}

// The ARN of an execution contains its version, never an alias. A function that
// depends on the policy with its own ARN could not be deployed.
func TestDurableFunctionMayReadItsOwnExecutions(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, durable(time.Hour))
	deployed := synth(t, stack)
	check.Equal(t, len(deployed.Functions()), 1)
	allowed := map[string][]any{}
	for _, f := range deployed.Functions() {
		for _, s := range f.Statements {
			allowed[strings.Join(s.Actions, " ")] = s.Resources
		}
		if needs := fmt.Sprint(deployed.Resources()[f.ID]["DependsOn"]); strings.Contains(needs, "Executions") {
			t.Errorf("the function waits for the policy with its own ARN: %s", needs)
		}
	}
	check.Equal(t, allowed["lambda:GetDurableExecution"], []any{ownExecutions()})
}

// ownExecutions is the pattern of the function's executions.
func ownExecutions() map[string]any {
	return map[string]any{"Fn::Join": []any{"", []any{arn("FunctionDurable"), ":*/durable-execution/*"}}}
}

// A message that becomes visible while its execution runs is delivered in vain.
func TestMessageStaysInvisibleForSixExecutions(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, durable(15*time.Minute)).AddQueue("Orders", nil)
	deployed := synth(t, stack)
	check.Equal(t, deployed.Resources()["FunctionOrdersQueue"].Properties()["VisibilityTimeout"], 5400.0)
	check.Equal(t, only(t, deployed, mappingType).Properties()["BatchSize"], 1.0, "a batch is one execution")
}

// Lambda offers no destinations for durable functions: without a dead-letter queue
// an event whose execution failed is dropped.
func TestFailedEventsOfADurableFunctionAreDeadLetters(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, durable(time.Hour))
	sources()["SNS"].add(f)
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	NewDashboard(stack, "Dashboard", &DashboardProps{Functions: []*IdempotentFunction{f}})
	deployed := synth(t, stack)
	queue := arn("FunctionAsyncFailures")
	check.Equal(t, only(t, deployed, "AWS::Lambda::Function").Properties()["DeadLetterConfig"], map[string]any{"TargetArn": queue})
	invocations := only(t, deployed, invocationsType).Properties()
	check.Equal(t, invocations["DestinationConfig"], nil)
	check.Equal(t, invocations["MaximumEventAgeInSeconds"], 21600.0)
	check.Equal(t, deployed.Resources()["FunctionAsyncFailures"]["DeletionPolicy"], "Retain")
	var onQueue []string
	for _, s := range deployed.Functions()[0].Statements {
		if fmt.Sprint(s.Resources) == fmt.Sprint([]any{queue}) {
			onQueue = append(onQueue, s.Actions...)
		}
	}
	check.Contains(t, onQueue, "sqs:SendMessage", "its dead-letter queue")
	watched := fmt.Sprint(deployed.Resources(alarmType, "AWS::CloudWatch::Dashboard"))
	check.Equal(t, strings.Count(watched, "DeadLetterErrors"), 2)
	check.Equal(t, strings.Count(watched, "DestinationDeliveryFailures"), 0)
}
