package idempotent

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
)

// OutcomeUnknownError says that nobody knows what was done.
//
// With Err, it is whether a transaction was committed: its answer was lost. A
// retry gets its result if it was; but look at what was done first where Err
// says that the record is gone.
//
// Without Err, the attempts that Config.MaxAttempts allows are used up: each crashed, lost its lease, or failed with an error that is
// not marked [Retryable]. The work may have been done or not, and it is not run
// again until a person has looked, and has removed the record (then it runs
// again) or completed it.
type OutcomeUnknownError struct {
	KeyHash  string
	Attempts int64 // those that count
	Err      error
}

// Unwrap gives Err.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

func (e *OutcomeUnknownError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("idempotent: whether the transaction of this key (%s) was committed is not known: %v", short(e.KeyHash), e.Err)
	}
	return fmt.Sprintf("idempotent: all attempts with this key (%s) failed or ended without a known outcome (%d counted); check what was done, then complete or remove the record", short(e.KeyHash), e.Attempts)
}

// Is reports whether target is ErrOutcomeUnknown.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// ReplayedError is the stored error of an earlier call that failed for good
// (see [Permanent]). Nothing was run.
type ReplayedError struct {
	Type    string // the Go type of the first error, as Lambda reports it
	Message string
	Code    string // optional, see [Permanent]
	// Compensated are the steps that were undone after it, in that order (see
	// [SagaStep]).
	Compensated []string
}

// ErrorType is Type, so that a handler that passes the error on as its own
// permanent one keeps the name.
func (e *ReplayedError) ErrorType() string { return e.Type }

// ErrorCode is Code.
func (e *ReplayedError) ErrorCode() string { return e.Code }

func (e *ReplayedError) Error() string { return e.Message }

// Is reports whether target is ErrReplayed.
func (e *ReplayedError) Is(target error) bool { return target == ErrReplayed }

// ResultUnavailableError says that the work was done, and is not done again,
// but its result cannot be given: it was too large to store, could not be
// encoded, sealed or put into the [PayloadStore], or what is stored cannot be
// fetched, opened or decoded into the type asked for, or another library, such as
// Powertools for TypeScript, completed the record without a result. Err says more, where
// there is more: what a missing permission or an outage keeps from this call, a
// later one gets.
//
// With Failed or Step it says something else of the work.
type ResultUnavailableError struct {
	KeyHash string
	// Failed: the work has failed for good, and it is the stored error that
	// cannot be given. Do not take it for done.
	Failed bool
	// Step is the finished [Step] whose result is meant, "" where it is the
	// call's: the work has begun, and the key is not finished. From [SagaStep]
	// it may also say that the call was stopped and is undone.
	Step   string
	Reason string
	Err    error
}

func (e *ResultUnavailableError) Error() string {
	switch {
	case e.Failed:
		return fmt.Sprintf("idempotent: the work of this key (%s) failed for good, but its error cannot be given: %s", short(e.KeyHash), e.Reason)
	case e.Step != "":
		return fmt.Sprintf("idempotent: the step %q of the work of this key (%s) was done, but its result cannot be given: %s", e.Step, short(e.KeyHash), e.Reason)
	}
	return fmt.Sprintf("idempotent: the work of this key (%s) was done, but its result cannot be given: %s", short(e.KeyHash), e.Reason)
}

// Is reports whether target is ErrResultUnavailable.
func (e *ResultUnavailableError) Is(target error) bool { return target == ErrResultUnavailable }

// Unwrap gives the error of the decoder, the [Sealer] or the [PayloadStore],
// where there is one.
func (e *ResultUnavailableError) Unwrap() error { return e.Err }

// StoreError says that the store failed, or that the context of the call ended
// before the handler could run. Not Executed, the handler did not run, and a
// retry is safe. Executed, it did run and its end may not be
// recorded: the record stays claimed, and a retry meets an [InProgressError]
// until the lease lapses and then runs the work again, unless
// Config.MaxAttempts forbids it. RolledBack, it did run, and nothing of its
// transaction was committed: a retry runs it again.
type StoreError struct {
	Op         string // "claim", "take over", "complete", …
	Executed   bool
	RolledBack bool
	Err        error
	Handler    error // what the handler failed with, where it did
}

func (e *StoreError) Error() string {
	state := "the handler did not run"
	switch {
	case e.Executed:
		state = "the handler runs or ran, and its end may not be recorded"
	case e.RolledBack && errors.Is(e.Err, driver.ErrUnavailable):
		state = "nothing was committed; retry"
	case e.RolledBack:
		state = "nothing was committed"
	case errors.Is(e.Err, driver.ErrUnavailable):
		state = "the handler did not run; retry"
	}
	return fmt.Sprintf("idempotent: %s: %s: %v", e.Op, state, e.Err)
}

// Is reports whether target is ErrStore.
func (e *StoreError) Is(target error) bool { return target == ErrStore }

// Unwrap gives the store's error and the handler's.
func (e *StoreError) Unwrap() []error {
	if e.Handler == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Handler}
}

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
