package idempotent

import "context"

// Step calls fn once for a name within the life of the call's record: its
// result is written into the record, and a later attempt gets it from there
// instead of calling fn again. It costs one write, and no read. An attempt that
// ends between fn and that write has the next one call fn again, so give what
// fn calls its [DownstreamKey]: in the context that fn gets, that is the
// step's own, and the same in every attempt.
//
// The name has at most 255 bytes of UTF-8 without control characters and ':',
// and is used once in a run of the handler; again only after an error of fn,
// which is answered as it is and stores nothing. Steps may run at the same time, and a step
// within a step has a name of its own below the outer one's.
//
// Step fails with a [*StepError] if it cannot run, with a [*StoreError] if fn
// ran and its write is not known to have landed, and with a [*LeaseLostError]
// if another attempt has taken over. The handler should then return the error;
// whatever it returns, the key is not released after the [*StoreError]. A
// result that cannot be kept (it does not encode, or is too large) is answered
// now, and a later attempt gets a [*ResultUnavailableError]: fn is not called
// again.
//
// The record is one item: its steps count together against the limit of
// 400 KB of DynamoDB, and each write is billed by the size of all.
//
// A call without a claim (bypassed, failed open, [Unprotected]) calls fn and keeps
// nothing. Under Config.Optimistic a Step is refused, and so is the call. Outside
// of a call, as with a context that is not the handler's, Step panics: nothing
// would be kept, without a word.
func Step[T any](ctx context.Context, name string, fn func(context.Context) (T, error)) (T, error) {
	return runTyped(ctx, name, fn, nil)
}

// SagaStep is a [Step] that can be undone. If the call fails for good, with an
// error that is marked [Permanent] from the handler or from its transaction,
// the undo functions of its finished steps are called, the last first. Each is
// a step itself: done once, and not again after a crash. Then the failure is
// stored, and every repetition gets it: see [ReplayedError].
//
// The result of do is always kept, for undo needs it. If neither the record nor
// Config.Payloads can hold it, SagaStep returns a [*ResultUnavailableError] and
// stops the call: no other step begins, and whatever the handler returns, the
// call fails for good and is undone with the result that is still in memory.
//
// undo gets the result of do as it was stored. An error of it ends the
// call with a [*CompensationError] and releases the key. The next attempt
// continues to undo. If Config.MaxAttempts leaves none, all calls get an
// [*OutcomeUnknownError] until a person gives an attempt back. In that attempt
// the handler runs again to where it is given its finished steps,
// and any other is refused, whatever the handler then returns. So it has to
// reach the same steps in every attempt: one that fails for good before it has
// reached them all gets a [*CompensationError], and nothing is stored as failed.
//
// Other errors of the handler undo nothing: the next attempt goes on from the
// steps that are finished. Nor does a success, as which an HTTP handler's answer
// with a status counts: to have its steps undone it has to return an error.
// Within another step a SagaStep is refused: an attempt
// that is given the outer one's result would not reach it.
func SagaStep[T any](ctx context.Context, name string, do func(context.Context) (T, error), undo func(context.Context, T) error) (T, error) {
	if undo == nil {
		panic("idempotent: SagaStep: the function that undoes is nil; use Step for what needs none")
	}
	return runTyped(ctx, name, do, undo)
}

func runTyped[T any](ctx context.Context, name string, do func(context.Context) (T, error), undo func(context.Context, T) error) (T, error) {
	in := insideOf(ctx)
	if in == nil {
		panic("idempotent: Step: the context is not one that Do or a wrapped handler was called with; for tests of a handler alone there is Unprotected")
	}
	if do == nil {
		panic("idempotent: Step: the function is nil")
	}
	w := typed[T]{fn: do}
	s := step{work: &w, name: name}
	if x := in.steps.x; x != nil {
		w.codec = x.config.Codec
	}
	if undo != nil {
		s.undo = func(ctx context.Context, data []byte) error { return undoTyped(ctx, w, data, undo) }
	}
	if err := in.step(ctx, &s); err != nil {
		var none T
		return none, err
	}
	return w.result, nil
}

// undoTyped decodes the result again: the handler may have changed its own.
// Without data it is one that could not be kept.
func undoTyped[T any](ctx context.Context, w typed[T], data []byte, undo func(context.Context, T) error) error {
	if data != nil {
		if err := w.decode(data); err != nil {
			return err
		}
	}
	return undo(ctx, w.result)
}
