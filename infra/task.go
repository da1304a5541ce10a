package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctionstasks"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// TaskProps are the props of [IdempotentFunction.NewTask]. Execution is required; the zero
// value of every other field is its default.
type TaskProps struct {
	// Configure changes the props of CDK before the state is created, such as ResultPath, but
	// not the function, the payload or the kind of invocation. Default: none.
	Configure func(*awsstepfunctionstasks.LambdaInvokeProps)

	// Execution is the timeout of the state machine, at most 366 days.
	Execution time.Duration

	// Pass is the path of a value of the input that distinguishes the passes of a loop or the
	// items of a Map, such as "$.index". Default: none. The second one replays the first.
	Pass string
}

// NewTask creates a state that invokes the function, for handlers.Invoke. The payload is
// {"id": …, "input": …}, with the input of the state. The id is the key: the execution's ARN,
// the state's name and Pass, the same in each retry and redrive, except in the Express
// children of a Distributed Map, which a redrive starts anew.
//
// The state retries conflicts, crashes, and errors of the store and of Lambda, with backoff,
// for longer than a crash leaves a claim. It does not retry TimedOutError, after which the
// effect may have happened. Use AddRetry or AddCatch for it, and AddCatch for permanent
// errors.
//
// NewTask panics with a [*PropsError] if the function's records may expire before an
// execution can no longer be redriven: 14 days after Execution.
func (f *IdempotentFunction) NewTask(scope constructs.Construct, id string, props *TaskProps) awsstepfunctionstasks.LambdaInvoke {
	p := orZero(props)
	append(p.refuse(f), refuseID(scope, id, "")...).panic(scope, id)
	format, values := "{}/{}", []*string{awsstepfunctions.JsonPath_StringAt(jsii.String("$$.Execution.Id")), awsstepfunctions.JsonPath_StringAt(jsii.String("$$.State.Name"))}
	if p.Pass != "" {
		format, values = format+"/{}", append(values, awsstepfunctions.JsonPath_StringAt(&p.Pass))
	}
	invoke := &awsstepfunctionstasks.LambdaInvokeProps{
		LambdaFunction: f.target(),
		Payload: awsstepfunctions.TaskInput_FromObject(&map[string]any{
			"id": awsstepfunctions.JsonPath_Format(&format, values...), "input": awsstepfunctions.JsonPath_ObjectAt(jsii.String("$")),
		}),
		PayloadResponseOnly:      jsii.Bool(true),
		QueryLanguage:            awsstepfunctions.QueryLanguage_JSON_PATH, // CDK refuses it in a state machine with JSONata
		RetryOnServiceExceptions: jsii.Bool(false),                         // the retries below contain them
		TaskTimeout:              awsstepfunctions.Timeout_Duration(seconds(f.longest() + time.Minute)),
	}
	if p.Configure != nil {
		before, found := *invoke, problems(nil)
		p.Configure(invoke)
		found.when(invoke.LambdaFunction != before.LambdaFunction || invoke.Payload != before.Payload || invoke.PayloadResponseOnly != before.PayloadResponseOnly || invoke.QueryLanguage != before.QueryLanguage,
			"Configure: it changes the function, the payload or the kind of invocation, from which handlers.Invoke takes the key")
		found.panic(scope, id)
	}
	task := build(scope, id, "Configure", func() awsstepfunctionstasks.LambdaInvoke {
		return awsstepfunctionstasks.NewLambdaInvoke(scope, &id, invoke) // it refuses a second kind of invocation
	})
	task.AddRetry(&awsstepfunctions.RetryProps{
		BackoffRate: jsii.Number(2),
		Errors: jsii.Strings("InProgressError", "LeaseLostError", "StoreError", "Lambda.Unknown", "Runtime.ExitError", "Sandbox.Timedout", "States.Timeout",
			"Lambda.AWSLambdaException", "Lambda.ClientExecutionTimeoutException", "Lambda.SdkClientException", "Lambda.ServiceException", "Lambda.TooManyRequestsException"),
		Interval:    seconds(5 * time.Second),
		MaxAttempts: jsii.Number(attempts(f.longest())),
	})
	return task
}

// attempts returns the number of retries, after 5, 10, 20 … s, that last for longer than the
// claim of a crash.
func attempts(timeout time.Duration) int {
	n := 5
	for 5*time.Second<<n-5*time.Second < timeout+time.Minute {
		n++
	}
	return n
}

func (p *TaskProps) refuse(f *IdempotentFunction) problems {
	var found problems
	found.when(f.props.Durable.timeout() > maxMappingTime,
		"Durable.ExecutionTimeout: %s is longer than the %s for which a state machine waits for the whole execution; lower it, or start executions from a dispatcher (Dispatches)",
		f.props.Durable.timeout(), maxMappingTime)
	found.when(p.Execution <= 0 || p.Execution > 366*day, "Execution: %s is not up to 366 days; state the timeout of the state machine", p.Execution)
	found.when(p.Pass != "" && !strings.HasPrefix(p.Pass, "$."), "Pass: %q is not a path, as in \"$.index\"", p.Pass)
	return append(found, f.refuseExpired(p.Execution+14*day, "an execution may be redriven for %s", p.Execution+14*day)...)
}
