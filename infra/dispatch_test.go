package infra

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/lambda-once/once/infra/internal/check"
)

func newDispatcher(t *testing.T, stack awscdk.Stack, change func(*IdempotentFunctionProps)) *IdempotentFunction {
	t.Helper()
	props := &IdempotentFunctionProps{Code: zip(t), Dispatches: newFunction(t, stack, durable(24*time.Hour))}
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
	alias := ref(deployed.IDs("AWS::Lambda::Alias")[0])
	for _, f := range deployed.Functions() {
		if !strings.HasPrefix(f.ID, "Dispatcher") {
			continue
		}
		variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
		check.Equal(t, variables["DURABLE_FUNCTION"], alias)
		check.Equal(t, variables["IDEMPOTENCY_TABLE"], nil)
		allowed := map[string]any{}
		for _, s := range f.Statements {
			for _, action := range s.Actions {
				if !strings.HasPrefix(action, "sqs:") {
					allowed[action] = s.Resources
				}
			}
		}
		check.Equal(t, allowed, map[string]any{"lambda:InvokeFunction": []any{alias}})
	}
	mapping := only(t, deployed, mappingType).Properties()
	check.Equal(t, mapping["BatchSize"], 10.0)
	check.Equal(t, isAlias(mapping["FunctionName"]), false, mapping)
	// The events of failed executions go to the failure queue.
	check.Equal(t, isAlias(only(t, deployed, invocationsType).Properties()["Qualifier"]), true)
}

// A name protects as long as the service keeps the history.
func TestNamesOutliveTheSourceOfADispatcher(t *testing.T) {
	for words, retention := range map[string]time.Duration{
		"": 18 * day,
		"the name of its execution may be forgotten after 408h0m0s; raise Durable.Retention": 17 * day,
		"may be forgotten after 336h0m0s": 0,
	} {
		stack := newStack()
		dispatched := newFunction(t, stack, func(p *IdempotentFunctionProps) {
			p.Durable, p.Retention = &DurableOptions{ExecutionTimeout: time.Hour, Retention: retention}, 60*day
		})
		f := NewIdempotentFunction(stack, "Dispatcher", &IdempotentFunctionProps{Code: zip(t), Dispatches: dispatched})
		f.AddQueue("Queue", nil)
		wantFinding(t, words, stack)
	}
}

func TestDispatcherRefuses(t *testing.T) {
	stack := newStack()
	ordinary := NewIdempotentFunction(stack, "Ordinary", &IdempotentFunctionProps{Code: zip(t), Table: NewIdempotencyTable(stack, "Records", nil)})
	wantRefusals(t, map[string]func(*IdempotentFunctionProps){
		"Dispatches: the function is not durable":                        func(p *IdempotentFunctionProps) { p.Dispatches = ordinary },
		"Durable: a dispatcher is an ordinary function":                  func(p *IdempotentFunctionProps) { p.Durable = &DurableOptions{ExecutionTimeout: time.Hour} },
		"Table, Postgres, Redis, Dispatches: a function has one of them": func(p *IdempotentFunctionProps) { p.Table = ordinary.props.Table },
		"Retention: 744h0m0s is longer than the 720h0m0s":                func(p *IdempotentFunctionProps) { p.Retention = 31 * day },
	}, func(change func(*IdempotentFunctionProps)) { newDispatcher(t, newStack(), change) })
	role, executes := newRole(stack), newFunction(t, stack, durable(time.Hour))
	wantRefusal(t, "is not durable", func() { ordinary.GrantStartExecution(role) })
	wantRefusal(t, "is not durable", func() { ordinary.GrantReadExecutions(role) })
	wantRefusal(t, "grantee: it is required", func() { executes.GrantStartExecution(nil) })
	wantRefusal(t, "grantee: it is required", func() { executes.GrantReadExecutions(nil) })
}

func TestGrantReadExecutions(t *testing.T) {
	stack := newStack()
	newFunction(t, stack, durable(time.Hour)).GrantReadExecutions(newRole(stack))
	got := map[string]any{}
	for id, policy := range synth(t, stack).Resources("AWS::IAM::Policy") {
		if strings.HasPrefix(id, "Role") {
			for _, s := range inPolicy(policy) {
				got[fmt.Sprint(s["Action"])] = s["Resource"]
			}
		}
	}
	check.Equal(t, got, map[string]any{
		"lambda:ListDurableExecutionsByFunction": arn("FunctionDurable"),
		"lambda:GetDurableExecution":             ownExecutions(),
	})
}
