package durable_test

import (
	"context"
	"sync/atomic"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/proof/durable"
)

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

func (a *asked) GetDurableExecutionState(ctx context.Context, arn, token, marker string) (durablefunc.State, error) {
	operations, next, err := a.State(ctx, arn, token, marker)
	page := durablefunc.State{NextMarker: next}
	for _, o := range operations {
		operation := durablefunc.Operation{Type: o.Type, StartTimestamp: o.StartTimestamp.Time}
		if o.ExecutionDetails != nil {
			operation.InputPayload = o.ExecutionDetails.InputPayload
		}
		page.Operations = append(page.Operations, operation)
	}
	return page, err
}

// asks lets the functions that are deployed from now on ask the service.
func (w *world) asks() *asked {
	a := &asked{Service: w.Service}
	w.options = &durablefunc.Options{Service: a}
	return a
}
