package idempotent

import (
	"context"
	"reflect"
)

// Step calls fn once per name in the life of the call's record. It
// writes fn's result into the record, and a later attempt receives that result
// instead of calling fn again. A step costs one write, and no read. If an
// attempt dies between fn and the write, the next one calls fn again. So send a
// [DownstreamKey] with fn's requests: in fn's context it belongs to the step,
// and is the same in every attempt.
//
// The name has at most 255 bytes of UTF-8, without control characters and ':'.
// A run of the handler may use it once, and again after an error of fn, which
// is returned as it is and not stored. Steps may run at the same time. Steps
// within a step have their own names, below that of the outer step.
//
// Step returns a [*StepError] if it cannot run, and a [*LeaseLostError] if
// a later attempt has taken over. It returns a [*StoreError] if fn ran and its
// write may not be recorded. The handler should return the error. After the
// [*StoreError] the key stays claimed, whatever the handler returns.
//
// Step fails, and the call with it, if the Codec is [JSON] and T is a struct without
// exported fields, or points to one or is a slice of one: a later attempt would receive
// an empty result.
//
// A result that does not encode, or is too large, is returned now. A later
// attempt receives a [*ResultUnavailableError], and fn is not called again. The
// record is one item: its steps count together against DynamoDB's limit of 400
// KB, and each write is billed by the size of all.
//
// In a call without a claim (bypassed, failed open, [Unprotected]) Step calls
// fn and stores nothing. Under Config.Optimistic and with shared records it fails, and
// the call with it. Outside of a call Step panics.
func Step[T any](ctx context.Context, name string, fn func(context.Context) (T, error)) (T, error) {
	return runTyped(ctx, name, fn, nil)
}

// SagaStep is a [Step] that can be undone. If the call fails for good, the undo
// functions of its finished steps are called, the last step first. A call fails
// for good with an error wrapped with [Permanent], from the handler or from its
// transaction. Each undo is itself a step: it runs once, and not again after a
// crash. Then the failure is stored, and later calls return it as a
// [ReplayedError].
//
// undo receives the result of do as it was stored. If neither the record nor
// Config.Payloads has room for the result, SagaStep returns a
// [*ResultUnavailableError] and stops the call. No further step begins, and
// whatever the handler returns, the call fails for good and is undone with the
// result in memory. If the process ends before that, no attempt can undo the
// step. The next one passes it over, undoes the rest, and returns a
// [*CompensationError] that wraps a [*ResultUnavailableError]. So does each later
// one: undo the step by hand, and resolve the record.
//
// A different error of undo ends the call with a [*CompensationError] and releases
// the key. The next attempt continues to undo. If Config.MaxAttempts leaves none,
// calls return an [*OutcomeUnknownError] until a person grants one more.
//
// To undo, an attempt runs the handler again, up to its finished steps, and
// refuses every step that is not finished. So the handler has to reach the same
// steps in every attempt. If an attempt fails for good before it has reached them
// all, the call returns a [*CompensationError] and stores no failure.
//
// Errors that are not permanent undo nothing: the next attempt continues after the
// finished steps. A success undoes nothing either, and an HTTP response with an error
// status is a success: return an error to have the steps undone. SagaStep
// refuses to run within a step, because a later attempt that receives the
// outer result would not reach it.
func SagaStep[T any](ctx context.Context, name string, do func(context.Context) (T, error), undo func(context.Context, T) error) (T, error) {
	if undo == nil {
		panic("idempotent: SagaStep: undo is nil; use Step if there is nothing to undo")
	}
	return runTyped(ctx, name, do, undo)
}

func runTyped[T any](ctx context.Context, name string, do func(context.Context) (T, error), undo func(context.Context, T) error) (T, error) {
	f := frameOf(ctx)
	if f == nil {
		panic("idempotent: Step: the context is not one that Do or a wrapped handler was called with; to test a handler by itself, use Unprotected")
	}
	if do == nil {
		panic("idempotent: Step: the function is nil")
	}
	w := typed[T]{fn: do}
	s := step{work: &w, name: name}
	if x := f.steps.x; x != nil {
		w.codec = x.config.Codec
		// One that does not marshal is not lost: SagaStep undoes the step at once.
		if reason, silently := x.lost(reflect.TypeFor[T]()); silently {
			s.uncarried = "its result: " + reason
		}
	}
	if undo != nil {
		s.undo = func(ctx context.Context, data []byte) error { return undoTyped(ctx, w, data, undo) }
	}
	if err := f.step(ctx, &s); err != nil {
		var none T
		return none, err
	}
	return w.result, nil
}

// undoTyped decodes the result again, because the handler may have changed its
// own. A result that could not be stored has no data.
func undoTyped[T any](ctx context.Context, w typed[T], data []byte, undo func(context.Context, T) error) error {
	if data != nil {
		if err := w.decode(data); err != nil {
			return err
		}
	}
	return undo(ctx, w.result)
}
