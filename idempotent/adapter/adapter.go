// Package adapter serves authors of adapters: code that turns the events of a
// trigger into calls of package idempotent, as package handlers does.
//
// Its settings apply to the calls made with the returned context, and not to
// calls that their handlers make.
package adapter

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// WithEvent returns a context for one call of Do or of a wrapped handler, and
// the Event that this call fills in before it returns. Adapters use it to label
// replays, and tests to inspect a call. Make only one call with the context.
func WithEvent(ctx context.Context) (context.Context, *idempotent.Event) {
	// One allocation for both: batch handlers come here with every record.
	with := &struct {
		options.Options
		event idempotent.Event
	}{Options: *options.Of(ctx)}
	with.Event = &with.event
	return options.With(ctx, &with.Options), &with.event
}

// WithWait returns a context whose calls wait up to wait for the result of a
// running duplicate, instead of Config.Wait. It serves adapters that know how
// long their trigger can wait. Whether identical calls of one process share an
// execution depends on Config.Wait alone.
func WithWait(ctx context.Context, wait time.Duration) context.Context {
	o := *options.Of(ctx)
	o.Wait, o.HasWait = wait, true
	return options.With(ctx, &o)
}

// WithReadFirst returns a context whose call reads its record before it claims
// it, as with Config.ReadFirst. It serves adapters that know that an event has
// been delivered before.
func WithReadFirst(ctx context.Context) context.Context {
	o := *options.Of(ctx)
	o.ReadFirst = true
	return options.With(ctx, &o)
}

// WithWaiting returns a context whose call calls waiting if it waits for a running
// duplicate for more than a moment. Each call within its handler does the same:
// waiting may be called several times, and at once. It serves adapters that claim
// ahead (see [WithTurn]): the duplicate may itself be waiting for one of those
// claims, so release them in the meantime.
func WithWaiting(ctx context.Context, waiting func()) context.Context {
	o := *options.Of(ctx)
	o.Waiting = waiting
	return options.With(ctx, &o)
}

// WithTurn returns a context whose call claims its record, and then calls turn
// before it runs the handler. It serves adapters that claim the records of a
// batch together and run them one after another.
//
// The context of turn is the handler's: it ends with the lease. After an error
// of turn, the handler does not run, and the claim is released uncounted. The
// call then returns that error, and its outcome is [idempotent.OutcomeNotRun].
// The outcome is the same if the claim no longer serves when turn returns: its
// lease has ended, or it had failed open. It is the same for a call that ends
// before it has called turn, unless it has replayed a result. Make such a call
// again, in its turn.
//
// Do not claim ahead for an executor whose [idempotent.Executor.ClaimsAhead] is
// false.
func WithTurn(ctx context.Context, turn func(context.Context) error) context.Context {
	o := *options.Of(ctx)
	o.Turn = turn
	return options.With(ctx, &o)
}

// WithExecution returns a context whose call claims its record for a durable
// execution, which continues in other invocations. The id identifies the
// execution, and a step within it if the call is made in one.
//
// The owner of the claim is derived from the id and the record. So a later
// invocation that calls with the same id and key enters its own record again at
// once, and any other call meets an [idempotent.InProgressError]. The claim holds
// until the time until, or until the end of the invocation if that is later,
// without a heartbeat. Neither an error of the store nor a lack of time releases
// it.
//
// When the handler has returned or panicked, settle returns what the run asks
// for: [idempotent.OutcomeExecuted] completes the record, and
// [idempotent.OutcomeReleased] releases the key. Anything else leaves the claim,
// with [idempotent.OutcomeSuspended]. If the result of a completed record is
// unavailable, the execution's own call runs the handler again, without a claim:
// it replays what its service has recorded. The handler of such a call can use
// neither steps nor transactions.
//
// A nil settle is for a step: the run is settled as that of any call. But an
// error after the end of the context, or of the invocation, leaves the claim.
// By then another invocation may run under it.
func WithExecution(ctx context.Context, until time.Time, settle func(err error) idempotent.Outcome, id ...string) context.Context {
	o := *options.Of(ctx)
	o.Execution = &options.Execution{ID: id, Until: until}
	if settle != nil {
		o.Execution.Settle = func(err error) string { return string(settle(err)) }
	}
	return options.With(ctx, &o)
}

// WithSibling returns a context whose call writes at about the same time as its
// siblings, such as the other records of a batch. A store that sends several
// writes in one request asks it how many more to wait for.
func WithSibling(ctx context.Context, s driver.Sibling) context.Context {
	return driver.WithSibling(ctx, s)
}

// WithChain returns a context whose calls continue the chain of a message. The
// chain is the [idempotent.ChainKey] that came with the message, or "" for
// none. Use it only for messages from trusted senders: whoever chooses the
// chain chooses the keys of the messages that follow.
func WithChain(ctx context.Context, chain string) context.Context {
	o := *options.Of(ctx)
	o.Chain = chain
	return options.With(ctx, &o)
}

// FinishedSagaSteps returns how many steps of the innermost call that ctx
// belongs to would be undone if it failed for good. It returns 0 outside of a
// call. It serves adapters whose handlers report a failure in their result.
func FinishedSagaSteps(ctx context.Context) int {
	call, ok := driver.CallOf(ctx).(interface{ FinishedSagaSteps() int })
	if !ok {
		return 0
	}
	return call.FinishedSagaSteps()
}
