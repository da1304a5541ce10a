// Package options carries an adapter's options of one call from package adapter
// to package idempotent.
package options

import (
	"context"
	"time"
)

// Options are an adapter's options of the next call under a context.
type Options struct {
	Chain string // the chain key that came with the message, or ""
	Event any    // the *idempotent.Event to fill in, or nil
	// Wait replaces Config.Wait, or is nil.
	Wait *time.Duration
	// ReadFirst makes the call read its record before it claims it.
	ReadFirst bool
	// Turn waits until the handler may run, under the claim. It is nil, or
	// returns why the handler must not run.
	Turn func(context.Context) error
	// LastStart is the time after which the handler does not start, or zero. Late
	// is the error of a call that it keeps from starting.
	LastStart time.Time
	Late      error
	// Waiting is called once if the call waits for a running duplicate, or nil.
	Waiting func()
	// Attaching is called before the call's attachment is created, or nil.
	Attaching func()
	// Execution owns the claim in place of this call alone; or nil.
	Execution *Execution
}

// An Execution is a durable execution, or a step within one. Each of its
// invocations calls with the same key, and owns the same claim.
type Execution struct {
	ID    []string  // the parts of its name
	Until time.Time // the end of the execution
	// Settle returns the outcome that a run asks for, as an
	// idempotent.Outcome. It is nil for a step, which is settled as any call.
	Settle func(err error) string
	// Ask returns the state of the execution whose ID begins with id. If it is nil,
	// a lapsed claim is taken over.
	Ask func(ctx context.Context, id string) (state ExecutionState, result []byte, err error)
}

// An ExecutionState is the state of an execution by its service.
type ExecutionState uint8

// The states of an execution. Active also means that nothing certain is known.
const (
	ExecutionActive ExecutionState = iota
	ExecutionSucceeded
	ExecutionEnded
)

type key struct{}

var none Options

// Of returns the options of the next call under ctx, which must not be changed.
func Of(ctx context.Context) *Options {
	if o, _ := ctx.Value(key{}).(*Options); o != nil {
		return o
	}
	return &none
}

// With returns a context whose next call has the options o, which must not be
// changed afterwards.
func With(ctx context.Context, o *Options) context.Context {
	return context.WithValue(ctx, key{}, o)
}

// Without returns a context without options: a call within a handler has none of
// those of the handler's call.
func Without(ctx context.Context) context.Context {
	if o, _ := ctx.Value(key{}).(*Options); o == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, (*Options)(nil))
}
