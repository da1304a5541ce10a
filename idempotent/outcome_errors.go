package idempotent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
)

// An OutcomeUnknownError reports that it is unknown whether the work was done.
//
// With Err, the answer to a transaction was lost. If it was committed, a retry
// receives its result. If Err says that the record is gone, check the effects
// before you retry.
//
// Without Err, the attempts that Config.MaxAttempts allows are used up. Each
// crashed, lost its lease, or failed with an error not wrapped with [Retryable].
// The work may be done. It is not run again until a person has checked, and has
// completed the record or removed it; removed, it runs again.
type OutcomeUnknownError struct {
	RecordID string
	Attempts int64 // those that count
	Err      error
}

func (e *OutcomeUnknownError) Error() string {
	if e.Err != nil {
		return e.because(e.Err.Error())
	}
	return fmt.Sprintf("idempotent: all attempts with key %s failed or have an unknown outcome (%d counted); check what was done, then complete or remove the record", e.RecordID, e.Attempts)
}

// SafeText returns the text, without that of a handler's own condition.
func (e *OutcomeUnknownError) SafeText() string {
	if e.Err != nil {
		return e.because(textOfCommit(e.Err))
	}
	return e.Error()
}

func (e *OutcomeUnknownError) because(cause string) string {
	return fmt.Sprintf("idempotent: the transaction of key %s may or may not be committed: %s", e.RecordID, cause)
}

// textOfCommit returns why the outcome of a commit is unknown. The handler wrote
// the condition of a rejected attachment, so its text is treated as the
// handler's.
func textOfCommit(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []string
		for _, err := range joined.Unwrap() {
			texts = append(texts, textOfCommit(err))
		}
		return strings.Join(texts, "; ")
	}
	if _, ok := errors.AsType[*driver.Rejected](err); ok {
		return SafeText(err)
	}
	return err.Error()
}

// Is reports whether target is [ErrOutcomeUnknown].
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// Unwrap returns Err.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// A ReplayedError is the stored error of an earlier call that failed for good
// (see [Permanent]). Nothing was run.
type ReplayedError struct {
	Type        string // the Go type of the first error, as Lambda reports it
	Message     string
	Code        string   // optional, see [Permanent]
	Compensated []string // the steps undone after the failure, in that order; see [SagaStep]
}

func (e *ReplayedError) Error() string { return e.Message }

// SafeText returns the type alone: the handler wrote the message.
func (e *ReplayedError) SafeText() string { return fmt.Sprintf("%T", e) }

// ErrorType returns Type. A handler that returns the error as its own permanent
// one keeps the name.
func (e *ReplayedError) ErrorType() string { return e.Type }

// ErrorCode returns Code.
func (e *ReplayedError) ErrorCode() string { return e.Code }

// Is reports whether target is [ErrReplayed].
func (e *ReplayedError) Is(target error) bool { return target == ErrReplayed }

// A ResultUnavailableError reports that the work was done and is not repeated,
// but its result cannot be returned. Either the result was not stored, because
// it was too large, or because encoding, sealing or storing it failed. Or the
// stored result cannot be fetched, opened or decoded into the caller's type. Or
// a different library completed the record without a result. Or an operator has
// redacted it.
//
// Err is the cause, or nil. After a missing permission or an outage, a later
// call may receive the result. Failed and Step change the meaning of the error.
type ResultUnavailableError struct {
	RecordID string
	// Failed reports that the work failed for good, and that the stored error
	// is unavailable. The work is not done.
	Failed bool
	// Step is the name of the finished [Step] whose result is unavailable, or ""
	// if it is the call's result. The key is not finished. From [SagaStep] the
	// error may also report that the call was stopped and is undone.
	Step   string
	Reason string
	Err    error
}

func (e *ResultUnavailableError) Error() string {
	switch {
	case e.Failed:
		return fmt.Sprintf("idempotent: the work of key %s failed for good, but its error is unavailable: %s", e.RecordID, e.Reason)
	case e.Step != "":
		return fmt.Sprintf("idempotent: step %q of key %s is done, but its result is unavailable: %s", e.Step, e.RecordID, e.Reason)
	}
	return fmt.Sprintf("idempotent: the work of key %s is done, but its result is unavailable: %s", e.RecordID, e.Reason)
}

// SafeText returns the whole text.
func (e *ResultUnavailableError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrResultUnavailable].
func (e *ResultUnavailableError) Is(target error) bool { return target == ErrResultUnavailable }

// Unwrap returns Err.
func (e *ResultUnavailableError) Unwrap() error { return e.Err }

// A StoreError reports that the store failed, or that the context of the call
// ended before the handler could run.
//
// If neither Executed nor RolledBack is set, the handler did not run, and a
// retry is safe. With Executed it ran, and its result may not be recorded. The
// record then stays claimed: a retry meets an [InProgressError] until the lease
// lapses, and then runs the work again, unless Config.MaxAttempts forbids it.
// With RolledBack it ran, nothing of its transaction was committed, and a retry
// runs it again.
type StoreError struct {
	Op         string // "claim", "take over", "complete", …
	Executed   bool
	RolledBack bool
	Err        error
	Handler    error // the handler's error, or nil
}

func (e *StoreError) Error() string {
	state := "the handler did not run"
	switch {
	case e.Executed:
		state = "the handler ran; its result may not be recorded"
	case e.RolledBack && errors.Is(e.Err, driver.ErrUnavailable):
		state = "nothing was committed; retry"
	case e.RolledBack:
		state = "nothing was committed"
	case errors.Is(e.Err, driver.ErrUnavailable):
		state = "the handler did not run; retry"
	}
	return fmt.Sprintf("idempotent: %s: %s: %v", e.Op, state, e.Err)
}

// SafeText returns the whole text.
func (e *StoreError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrStore].
func (e *StoreError) Is(target error) bool { return target == ErrStore }

// Unwrap returns Err, and Handler if it is set. A ReplayedError as Handler is not part
// of the tree: it is final, and this error is not.
func (e *StoreError) Unwrap() []error {
	if _, final := e.Handler.(*ReplayedError); final || e.Handler == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Handler}
}

// A TimedOutError reports that the handler was cut off: its time ended, and it
// returned an error after that. Its effects may have happened. A payment may have
// arrived although its answer did not. The key is released, and a retry repeats
// the effects, unless Config.MaxAttempts forbids it.
//
// A call returns a TimedOutError in place of an error that only reports the end
// of a context, such as one that wraps [context.DeadlineExceeded]. An error that says
// more is returned as it is, with [OutcomeTimedOut] all the same.
//
// A handler's time ends Config.Reserve before its lease, and in a Lambda function
// Config.Reserve before the invocation. A context that the caller cancelled, or
// that ended because the lease was lost, does not count. Nor does an error
// wrapped with [Retryable], which says that nothing was done.
//
// Set the function's timeout longer than its slowest handler. Send a
// [DownstreamKey] with the handler's requests: it makes the repetition harmless.
//
// A TimedOutError is also the cause (context.Cause) of a handler's context whose
// time ended.
type TimedOutError struct {
	RecordID string
	Attempt  int64 // of the call that was cut off; 0 in a run without a claim
	Err      error // the handler's; of a context's cause, context.DeadlineExceeded
}

func (e *TimedOutError) Error() string { return e.with(fmt.Sprint(e.Err)) }

// SafeText returns the text, without that of the handler's error.
func (e *TimedOutError) SafeText() string { return e.with(SafeText(e.Err)) }

func (e *TimedOutError) with(cause string) string {
	return fmt.Sprintf("idempotent: attempt %d of key %s ran out of time; its effects outside of a transaction may have happened, and a retry repeats them: %s", e.Attempt, e.RecordID, cause)
}

// Is reports whether target is [ErrTimedOut] or [context.DeadlineExceeded]. The
// context of a handler with a heartbeat only reports that it was cancelled.
func (e *TimedOutError) Is(target error) bool {
	return target == ErrTimedOut || target == context.DeadlineExceeded
}

// Unwrap returns Err.
func (e *TimedOutError) Unwrap() error { return e.Err }
