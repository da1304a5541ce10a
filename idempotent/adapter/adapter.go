// Package adapter is for authors of adapters: code that turns the events of a
// trigger into calls of package idempotent, as package handlers does.
//
// What it sets holds for the calls made with the returned context, and not for
// the calls that their handlers make.
package adapter

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// WithEvent returns a context for one call of Do, or of a wrapped handler, and
// the Event that the call fills in before it returns. Adapters use it to mark
// replays, and tests to look at a call. Make only one call with the context.
func WithEvent(ctx context.Context) (context.Context, *idempotent.Event) {
	// One allocation for both: batch handlers come here with every record.
	with := &struct {
		options.Options
		event idempotent.Event
	}{Options: options.Of(ctx)}
	with.Event = &with.event
	return options.With(ctx, &with.Options), &with.event
}

// WithWait returns a context whose calls wait for the result of a running
// duplicate for up to wait, in place of Config.Wait. It is for adapters that
// know how long their trigger is better kept waiting than refused. Whether
// identical calls of one process share an execution depends on Config.Wait
// alone.
func WithWait(ctx context.Context, wait time.Duration) context.Context {
	o := options.Of(ctx)
	o.Wait, o.HasWait = wait, true
	return options.With(ctx, &o)
}

// WithChain returns a context whose calls continue the chain of a message: chain
// is the [idempotent.ChainKey] that came with it, or "" for none. Use it only
// for messages whose senders are trusted: whoever chooses the chain chooses the
// keys of the messages that follow from it.
func WithChain(ctx context.Context, chain string) context.Context {
	o := options.Of(ctx)
	o.Chain = chain
	return options.With(ctx, &o)
}

// FinishedSagaSteps returns the number of finished [idempotent.SagaStep] calls
// of the innermost call that ctx belongs to: those that would be undone if it
// failed for good. It is 0 outside of a call. It is for adapters whose handlers
// report a failure in what they return.
func FinishedSagaSteps(ctx context.Context) int {
	call, ok := driver.CallOf(ctx).(interface{ FinishedSagaSteps() int })
	if !ok {
		return 0
	}
	return call.FinishedSagaSteps()
}
