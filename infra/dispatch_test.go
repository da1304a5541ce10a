package infra

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

func newDispatcher(t *testing.T, stack awscdk.Stack, change func(*IdempotentFunctionProps)) *IdempotentFunction {
	t.Helper()
	props := &IdempotentFunctionProps{Code: zip(t), Dispatches: newDurable(t, stack, 24*time.Hour)}
	if change != nil {
		change(props)
	}
	return NewIdempotentFunction(stack, "Dispatcher", props)
}

// The source waits for the start only, so the execution may take longer.
func TestDispatcherStartsExecutionsOfTheAliasAlone(t *testing.T) {
	stack := newStack()
	newDispatcher(t, stack, nil).AddQueue("Queue", nil)
	deployed := synth(t, stack)
	alias := map[string]any{"Ref": deployed.IDs("AWS::Lambda::Alias")[0]}
	for _, f := range deployed.Functions() {
		if !strings.HasPrefix(f.ID, "Dispatcher") {
			continue
		}
		if variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any); !reflect.DeepEqual(variables["DURABLE_FUNCTION"], alias) || variables["IDEMPOTENCY_TABLE"] != nil {
			t.Errorf("its variables are %v", variables)
		}
		for _, s := range f.Statements {
			for _, action := range s.Actions {
				switch {
				case action == "lambda:InvokeFunction" && reflect.DeepEqual(s.Resources, []any{alias}):
				case strings.HasPrefix(action, "sqs:"):
				default:
					t.Errorf("it may %s on %v", action, s.Resources)
				}
			}
		}
	}
	mapping := only(t, deployed, "AWS::Lambda::EventSourceMapping").Properties()
	if mapping["BatchSize"] != 10.0 || isAlias(mapping["FunctionName"]) {
		t.Errorf("got %v", mapping)
	}
	if !isAlias(only(t, deployed, "AWS::Lambda::EventInvokeConfig").Properties()["Qualifier"]) {
		t.Error("what fails is dropped")
	}
}

// A name protects as long as the service keeps the history.
func TestNamesOutliveTheSourceOfADispatcher(t *testing.T) {
	for words, o := range map[string]DurableOptions{
		"": {ExecutionTimeout: time.Hour, Retention: 18 * day},
		"the name of its execution may be forgotten after 408h0m0s; raise Durable.Retention": {ExecutionTimeout: time.Hour, Retention: 17 * day},
		"may be forgotten after 336h0m0s": {ExecutionTimeout: time.Hour},
	} {
		stack := newStack()
		durable := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Durable, p.Retention = &o, 60*day })
		f := NewIdempotentFunction(stack, "Dispatcher", &IdempotentFunctionProps{Code: zip(t), Dispatches: durable})
		wantRefusal(t, words, func() { f.AddQueue("Queue", nil) })
	}
}

func TestDispatcherRefuses(t *testing.T) {
	stack := newStack()
	ordinary := NewIdempotentFunction(stack, "Ordinary", &IdempotentFunctionProps{Code: zip(t), Table: NewIdempotencyTable(stack, "Records", nil)})
	for words, change := range map[string]func(*IdempotentFunctionProps){
		"Dispatches: the function is not durable":         func(p *IdempotentFunctionProps) { p.Dispatches = ordinary },
		"Durable: a dispatcher is an ordinary function":   func(p *IdempotentFunctionProps) { p.Durable = &DurableOptions{ExecutionTimeout: time.Hour} },
		"Table, Execute: a dispatcher has no records":     func(p *IdempotentFunctionProps) { p.Table = ordinary.props.Table },
		"Retention: 744h0m0s is longer than the 720h0m0s": func(p *IdempotentFunctionProps) { p.Retention = 31 * day },
		"DURABLE_FUNCTION is set by this construct":       func(p *IdempotentFunctionProps) { p.Environment = map[string]string{"DURABLE_FUNCTION": "x"} },
	} {
		wantRefusal(t, words, func() { newDispatcher(t, newStack(), change) })
	}
	role := newRole(stack)
	wantRefusal(t, "is not durable", func() { ordinary.GrantStartExecution(role) })
	wantRefusal(t, "is not durable", func() { ordinary.GrantReadExecutions(role) })
	durable := newDurable(t, stack, time.Hour)
	wantRefusal(t, "grantee: it is required", func() { durable.GrantStartExecution(nil) })
	wantRefusal(t, "grantee: it is required", func() { durable.GrantReadExecutions(nil) })
}

// A failed event is sent again from the dead-letter queue.
func TestGrantComparesTheRecordsOfExecutions(t *testing.T) {
	stack := newStack()
	durable := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Durable = &DurableOptions{ExecutionTimeout: time.Hour} })
	wantRefusal(t, "an event may come 343h0m0s late", func() { durable.GrantStartExecution(newRole(stack)) })
}

func TestGrantReadExecutions(t *testing.T) {
	stack := newStack()
	durable := newDurable(t, stack, time.Hour)
	var role awsiam.IGrantable = newRole(stack)
	durable.GrantReadExecutions(role)
	function := map[string]any{"Fn::GetAtt": []any{"Function", "Arn"}}
	want := map[string]any{
		"lambda:ListDurableExecutionsByFunction": function,
		"lambda:GetDurableExecution":             map[string]any{"Fn::Join": []any{"", []any{function, ":*/durable-execution/*"}}},
	}
	got := map[string]any{}
	for id, policy := range synth(t, stack).Resources("AWS::IAM::Policy") {
		if !strings.HasPrefix(id, "Role") {
			continue
		}
		for _, s := range policy.Properties()["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			statement := s.(map[string]any)
			got[statement["Action"].(string)] = statement["Resource"]
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}
