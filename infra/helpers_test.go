package infra

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
	"github.com/lambda-once/once/infra/internal/template"
)

// CDK compares each template with the schemas of CloudFormation, and prints what it finds. The
// tests of cmd/examples judge that; here it would take most of the time.
func TestMain(m *testing.M) {
	code := 1
	if err := os.Setenv("CDK_VALIDATION", "false"); err == nil {
		code = m.Run()
	}
	jsii.Close()
	os.Exit(code)
}

func newStack() awscdk.Stack {
	return stackOf(awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)}), "S")
}

func stackOf(app constructs.Construct, id string) awscdk.Stack {
	env := &awscdk.Environment{Account: jsii.String("111122223333"), Region: jsii.String("eu-west-1")}
	return awscdk.NewStack(app, &id, &awscdk.StackProps{Env: env})
}

func synth(t *testing.T, stack awscdk.Stack) template.Template {
	t.Helper()
	whole, err := template.Template(*assertions.Template_FromStack(stack, nil).ToJSON()).Clone().Readable()
	check.Must(t, err)
	return whole
}

// only is the single resource of a type.
func only(t *testing.T, from template.Template, kind string) template.Resource {
	t.Helper()
	ids := from.IDs(kind)
	if len(ids) != 1 {
		t.Fatalf("%d of %s: %v", len(ids), kind, ids)
	}
	return from.Resources()[ids[0]]
}

// emits checks that each alarm reads metrics that AWS or the function writes.
func emits(t *testing.T, deployed template.Template) {
	t.Helper()
	check.Equal(t, deployed.Unwritten(), []string(nil))
}

// refusal returns the value with which a constructor panics, or nil.
func refusal(t *testing.T, construct func()) (refused *PropsError) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			var ours bool
			if refused, ours = r.(*PropsError); !ours {
				t.Fatalf("panic with %T: %v", r, r)
			}
		}
	}()
	construct()
	return nil
}

// wantRefusal checks that a constructor refuses its props for one problem, which has
// these words. With "", it must accept them.
func wantRefusal(t *testing.T, words string, construct func()) {
	t.Helper()
	switch refused := refusal(t, construct); {
	case words == "" && refused != nil:
		t.Errorf("refused: %v", refused)
	case words != "" && refused == nil:
		t.Errorf("not refused; want %q", words)
	case words != "" && (len(refused.Problems) != 1 || !strings.Contains(refused.Problems[0], words)):
		t.Errorf("got %v, want one problem with %q", refused, words)
	}
}

// wantRefusals calls wantRefusal for each case, by its words.
func wantRefusals[C any](t *testing.T, cases map[string]C, construct func(C)) {
	t.Helper()
	for words, c := range cases {
		t.Run(words, func(t *testing.T) { wantRefusal(t, words, func() { construct(c) }) })
	}
}

// wantFinding checks that an app has a finding, which has these words. With "", it must have none.
func wantFinding(t *testing.T, words string, of awscdk.Stack) {
	t.Helper()
	switch found := Check(awscdk.Stage_Of(of)); {
	case words == "":
		check.Equal(t, found, []Finding(nil))
	default:
		check.Contains(t, found, words)
	}
}

func zip(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bootstrap.zip")
	check.Must(t, fake.WriteFunction(file))
	return file
}

func newFunction(t *testing.T, stack awscdk.Stack, change func(*IdempotentFunctionProps)) *IdempotentFunction {
	t.Helper()
	props := &IdempotentFunctionProps{Code: zip(t), Table: NewIdempotencyTable(stack, "Table", nil)}
	if change != nil {
		change(props)
	}
	return NewIdempotentFunction(stack, "Function", props)
}

// durable returns a change of props to a durable function whose records outlive every
// source.
func durable(timeout time.Duration) func(*IdempotentFunctionProps) {
	return func(p *IdempotentFunctionProps) {
		p.Durable, p.Retention, p.Operations = &DurableOptions{ExecutionTimeout: timeout, Retention: 30 * day}, 400*day, []string{"pay"}
	}
}

func newRelay(t *testing.T, stack awscdk.Stack, change func(*RelayProps)) *Relay {
	t.Helper()
	props := &RelayProps{Code: zip(t), Outbox: NewOutbox(stack, "Outbox", nil)}
	if change != nil {
		change(props)
	}
	return NewRelay(stack, "Relay", props)
}

func newRole(stack awscdk.Stack) awsiam.Role {
	return awsiam.NewRole(stack, jsii.String("Role"), &awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil)})
}

const (
	keyHere  = "arn:aws:kms:eu-west-1:111122223333:key/a"
	keyThere = "arn:aws:kms:eu-central-1:111122223333:key/b"
)

// customerKey returns a key in the Region of the stack.
func customerKey(stack awscdk.Stack) awskms.IKey {
	return awskms.Key_FromKeyArn(stack, jsii.String("Key"), jsii.String(keyHere))
}

// arn refers to an attribute of a resource, and ref to its name.
func arn(id string) map[string]any { return map[string]any{"Fn::GetAtt": []any{id, "Arn"}} }

func ref(id string) map[string]any { return map[string]any{"Ref": id} }

// A refusal names the construct, and everything that is wrong with it.
func TestPropsError(t *testing.T) {
	refused := refusal(t, func() {
		NewIdempotentFunction(newStack(), "Orders", &IdempotentFunctionProps{Code: "nowhere.zip", Timeout: time.Millisecond})
	})
	if refused == nil {
		t.Fatal("it is not refused")
	}
	check.Equal(t, refused.Construct, "S/Orders")
	check.Equal(t, len(refused.Problems), 3)
	for _, words := range []string{"infra: S/Orders: Code: build the function first", "; Table: it is required", "; Timeout: 1ms is not"} {
		check.Contains(t, refused, words)
	}
}

const (
	mappingType     = "AWS::Lambda::EventSourceMapping"
	invocationsType = "AWS::Lambda::EventInvokeConfig"
)

// A source is a kind of event source.
type source struct {
	longest time.Duration // the time for which it waits for an execution; 0 if it does not
	age     time.Duration // of an event that Lambda gives up; 0 of synchronous sources
	add     func(*IdempotentFunction) awssqs.IQueue
}

func sources() map[string]source {
	return map[string]source{
		"SQS": {15 * time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue { return f.AddQueue("SQS", nil).DeadLetters }},
		"Kinesis": {15 * time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue {
			return f.AddStream("Clicks", newStream(f), nil)
		}},
		"DynamoDB": {15 * time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue {
			return f.AddTableStream("Clicks", newTable(f, awsdynamodb.StreamViewType_NEW_IMAGE), nil)
		}},
		"Kafka": {14 * time.Minute, 0, func(f *IdempotentFunction) awssqs.IQueue { return f.AddKafka("Kafka", msk(nil)) }},
		"HTTP": {30 * time.Second, 0, func(f *IdempotentFunction) awssqs.IQueue {
			f.AddHTTPAPI("HTTP", &HTTPAPIProps{Public: true, Routes: []string{"POST /payments"}})
			return nil
		}},
		"SNS": {0, 6 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue { return addTopic(f) }},
		"EventBridge": {0, 12 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue {
			failures := f.FailureQueue()
			awsevents.NewRule(f.scope, jsii.String("Rule"), &awsevents.RuleProps{
				EventPattern: &awsevents.EventPattern{Source: jsii.Strings("shop")},
				Targets: &[]awsevents.IRuleTarget{awseventstargets.NewLambdaFunction(f.Target(), &awseventstargets.LambdaFunctionProps{
					DeadLetterQueue: failures, MaxEventAge: seconds(6 * time.Hour),
				})},
			})
			return failures
		}},
		"S3": {0, 6 * time.Hour, func(f *IdempotentFunction) awssqs.IQueue {
			failures, bucket := f.FailureQueue(), awss3.NewBucket(f.scope, jsii.String("Bucket"), nil)
			f.Target().AddEventSource(awslambdaeventsources.NewS3EventSourceV2(bucket, &awslambdaeventsources.S3EventSourceProps{
				Events: &[]awss3.EventType{awss3.EventType_OBJECT_CREATED},
			}))
			return failures
		}},
	}
}
