package idempotent

import (
	"context"
	"fmt"
	"time"
)

// TimedOutError reports that the handler was cut off: its time ended, and it
// returned an error after that. Its effect may have happened: a payment may
// have arrived although its answer did not. The key is released, and a retry
// repeats the effect, unless Config.MaxAttempts forbids it.
//
// A call returns a TimedOutError in place of an error that only says that a
// context ended, such as [context.DeadlineExceeded] or an error that wraps it.
// Any other error is returned as it is, with [OutcomeTimedOut] all the same.
//
// A handler's time ends Config.Reserve before its lease, and in a Lambda
// function Config.Reserve before the invocation. A context that the caller
// cancelled, or that ended because the lease was lost, does not count. Nor does
// an error that is marked [Retryable]: it says that nothing was done.
//
// Give the function a timeout that is longer than its slowest handler. Give
// what the handler calls a [DownstreamKey], which makes the repetition harmless.
//
// It is also the cause (context.Cause) of a handler's context whose time ended.
type TimedOutError struct {
	KeyHash string
	Attempt int64 // of the call that was cut off; 0 in a run without a claim
	Err     error // the handler's; of a context's cause, context.DeadlineExceeded
}

func (e *TimedOutError) Error() string {
	return fmt.Sprintf("idempotent: attempt %d with this key (%s) ran out of time; what it did outside of a transaction may be done, and a retry repeats it: %v", e.Attempt, short(e.KeyHash), e.Err)
}

// Is reports whether target is ErrTimedOut, or [context.DeadlineExceeded]: the
// context of a handler that has a heartbeat says that it was cancelled.
func (e *TimedOutError) Is(target error) bool {
	return target == ErrTimedOut || target == context.DeadlineExceeded
}

// Unwrap returns Err.
func (e *TimedOutError) Unwrap() error { return e.Err }

// timeEnds is the cause of a handler's context that ends by the call's limit.
func (c *call) timeEnds(l *lease) *TimedOutError {
	return &TimedOutError{KeyHash: c.hash, Attempt: l.record.Attempt, Err: context.DeadlineExceeded}
}

// cutOff reports whether the handler's time has ended. A handler that sees its
// deadline may return before the context's own timer has fired.
func (h *heartbeat) cutOff() bool {
	if ended := h.ctx.Err(); ended != nil {
		_, ours := context.Cause(h.ctx).(*TimedOutError)
		return ours
	}
	return !h.limit.IsZero() && !time.Now().Before(h.limit)
}

// timedOut is what the caller receives of a handler that was cut off. An error
// that only says that a context ended does not say what became of the work, and
// often has no type that a caller can match.
func (c *call) timedOut(l *lease, err error) error {
	if !c.cutOff || !is(err, context.DeadlineExceeded) && !is(err, context.Canceled) {
		return err
	}
	err = bare(err)
	if _, ok := err.(*TimedOutError); ok {
		return err
	}
	return &TimedOutError{KeyHash: c.hash, Attempt: l.record.Attempt, Err: err}
}
