package durable_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/proof/durable"
)

// The service ends an execution after a response whose status does not fit.
func TestServiceRefusesAResponseWhoseStatusDoesNotFit(t *testing.T) {
	for _, response := range []string{
		``, `[]`, `{}`, `{"statusCode":200}`, `{"Status":"PAUSED"}`, `{"Status":"PENDING"}`,
		`{"Status":"SUCCEEDED","Result":"1","Error":{"ErrorType":"x"}}`, `{"Status":"FAILED","Result":"1"}`,
	} {
		inMemory(t, func(w *world) {
			w.Invoke = func(context.Context, []byte) ([]byte, error) { return []byte(response), nil }
			w.wantFailure(response, "InvalidParameterValueException")
		})
	}
}

// asked is the service as a function asks it.
type asked struct {
	*durable.Service
	calls atomic.Int64
	// answer replaces an answer, or is nil.
	answer func(ctx context.Context, e durablefunc.Execution) (durablefunc.Execution, error)
}

// apiError is an error as the AWS SDK returns it.
type apiError string

func (e apiError) Error() string     { return "api error " + string(e) }
func (e apiError) ErrorCode() string { return string(e) }

func (a *asked) GetDurableExecution(ctx context.Context, arn string) (durablefunc.Execution, error) {
	a.calls.Add(1)
	status, result, known := a.Describe(arn)
	if !known {
		return durablefunc.Execution{}, apiError("ResourceNotFoundException")
	}
	e := durablefunc.Execution{Status: status, Result: result}
	if a.answer != nil {
		return a.answer(ctx, e)
	}
	return e, nil
}

func (a *asked) GetDurableExecutionState(context.Context, string, string, string) (durablefunc.State, error) {
	return durablefunc.State{}, apiError("there is one page")
}

// asks lets the functions that are deployed from now on ask the service, which ends their
// executions in time.
func (w *world) asks() *asked {
	w.ExecutionTimeout = w.timeout
	a := &asked{Service: w.Service}
	w.options = &durablefunc.Options{Service: a}
	return a
}
