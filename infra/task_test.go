package infra

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctionstasks"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

// state returns a state as Step Functions reads it.
func state(t *testing.T, stack awscdk.Stack, task awsstepfunctionstasks.LambdaInvoke) map[string]any {
	t.Helper()
	text, err := json.Marshal(stack.Resolve(task.ToStateJson("")))
	check.Must(t, err)
	var state map[string]any
	check.Must(t, json.Unmarshal(text, &state))
	return state
}

func TestTask(t *testing.T) {
	stack := newStack()
	got := state(t, stack, newFunction(t, stack, longRecords).NewTask(stack, "Pay", &TaskProps{Execution: time.Hour, Pass: "$.index"}))
	check.Equal(t, got["Parameters"], map[string]any{
		"id.$": "States.Format('{}/{}/{}', $$.Execution.Id, $$.State.Name, $.index)", "input.$": "$",
	})
	check.Equal(t, got["TimeoutSeconds"], 70.0)
	check.Equal(t, got["Retry"], []any{map[string]any{
		"BackoffRate": 2.0,
		"ErrorEquals": []any{
			"InProgressError", "LeaseLostError", "StoreError", "Lambda.Unknown", "Runtime.ExitError", "Sandbox.Timedout", "States.Timeout",
			"Lambda.AWSLambdaException", "Lambda.ClientExecutionTimeoutException", "Lambda.SdkClientException", "Lambda.ServiceException", "Lambda.TooManyRequestsException",
		},
		"IntervalSeconds": 5.0,
		"MaxAttempts":     5.0,
	}})
}

// A crash leaves a claim until the timeout of the function has passed.
func TestTaskRetriesForLongerThanAClaimOfACrash(t *testing.T) {
	for timeout, want := range map[time.Duration]int{time.Second: 5, 95 * time.Second: 5, 96 * time.Second: 6, 15 * time.Minute: 8} {
		got := attempts(timeout)
		check.Equal(t, got, want, timeout)
		var waits time.Duration
		for i := range got {
			waits += 5 * time.Second << i
		}
		check.Equal(t, waits >= timeout+time.Minute, true, timeout)
	}
}

func TestTaskInvokesTheAliasOfADurableFunction(t *testing.T) {
	stack := newStack()
	got := state(t, stack, newFunction(t, stack, durable(time.Minute)).NewTask(stack, "Pay", &TaskProps{Execution: time.Hour}))
	check.Contains(t, got["Resource"], "Ref:FunctionAlias")
}

func TestTaskRefuses(t *testing.T) {
	configure := func(change func(*awsstepfunctionstasks.LambdaInvokeProps)) TaskProps {
		return TaskProps{Configure: change, Execution: time.Hour}
	}
	wantRefusals(t, map[string]TaskProps{
		"":                                    {Execution: 14 * day},
		"Execution: 0s is not up to 366 days": {},
		"may be redriven for 672h0m1s":        {Execution: 14*day + time.Second},
		"Pass: \"index\" is not a path":       {Execution: time.Hour, Pass: "index"},
		"Configure: it changes the function, the payload": configure(func(p *awsstepfunctionstasks.LambdaInvokeProps) { p.LambdaFunction = nil }),
		"Configure: it changes the function, the payload or the kind": configure(func(p *awsstepfunctionstasks.LambdaInvokeProps) {
			p.QueryLanguage = awsstepfunctions.QueryLanguage_JSONATA
		}),
		"Configure: it changes the function, the payload or": configure(func(p *awsstepfunctionstasks.LambdaInvokeProps) { p.Payload = nil }),
		"'payloadResponseOnly' property": configure(func(p *awsstepfunctionstasks.LambdaInvokeProps) {
			p.InvocationType = awsstepfunctionstasks.LambdaInvocationType_EVENT
		}),
		"Configure: it changes the function, the payload or the": configure(func(p *awsstepfunctionstasks.LambdaInvokeProps) { p.PayloadResponseOnly = nil }),
		"cannot be used if 'integ":                               configure(func(p *awsstepfunctionstasks.LambdaInvokeProps) { p.ClientContext = jsii.String("e30=") }),
		"Configure: ": configure(func(p *awsstepfunctionstasks.LambdaInvokeProps) {
			p.IntegrationPattern = awsstepfunctions.IntegrationPattern_WAIT_FOR_TASK_TOKEN
		}),
	}, func(props TaskProps) {
		stack := newStack()
		newFunction(t, stack, longRecords).NewTask(stack, "Pay", &props)
	})
	stack := newStack()
	slow := newFunction(t, stack, durable(16*time.Minute))
	wantRefusal(t, "for which a state machine waits", func() { slow.NewTask(stack, "Pay", &TaskProps{Execution: time.Hour}) })
}
