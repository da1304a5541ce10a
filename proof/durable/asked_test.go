package durable_test

import (
	"context"
	"sync/atomic"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/proof/durable"
)

// asked is the service as a function asks it.
type asked struct {
	*durable.Service
	calls atomic.Int64
	// answer replaces an answer, or is nil.
	answer func(ctx context.Context, e handlers.DurableExecution) (handlers.DurableExecution, error)
}

// apiError is an error as the AWS SDK returns it.
type apiError string

func (e apiError) Error() string     { return "api error " + string(e) }
func (e apiError) ErrorCode() string { return string(e) }

func (a *asked) GetDurableExecution(ctx context.Context, arn string) (handlers.DurableExecution, error) {
	a.calls.Add(1)
	status, result, known := a.Describe(arn)
	if !known {
		return handlers.DurableExecution{}, apiError("ResourceNotFoundException")
	}
	e := handlers.DurableExecution{Status: status, Result: result}
	if a.answer != nil {
		return a.answer(ctx, e)
	}
	return e, nil
}

func (a *asked) GetDurableExecutionState(ctx context.Context, arn, token, marker string) (handlers.DurableState, error) {
	operations, next, err := a.State(ctx, arn, token, marker)
	page := handlers.DurableState{NextMarker: next}
	for _, o := range operations {
		operation := handlers.DurableOperation{Type: o.Type, StartTimestamp: o.StartTimestamp.Time}
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
	w.options = &handlers.DurableOptions{Service: a}
	return a
}
