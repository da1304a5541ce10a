package idempotent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Outcome is how a call ended.
type Outcome string

// The outcomes of a call.
const (
	// OutcomeExecuted: the handler ran in the first attempt, and its result
	// is recorded.
	OutcomeExecuted Outcome = "executed"
	// OutcomeTakeover: the handler ran after an earlier attempt that counts,
	// whose lease had lapsed or which had failed, and its result is recorded.
	OutcomeTakeover Outcome = "takeover"
	// OutcomeReplayed: the handler did not run, or ran in vain (see
	// Config.Optimistic); the caller got the stored result or error.
	OutcomeReplayed Outcome = "replayed"
	// OutcomeConflict: another call with the key is running.
	OutcomeConflict Outcome = "conflict"
	// OutcomeMismatch: the key was used with another payload.
	OutcomeMismatch Outcome = "mismatch"
	// OutcomeLeaseLost: the handler ran, and another call owned the record
	// when it had finished. The caller got the other's result if there was
	// one.
	OutcomeLeaseLost Outcome = "lease lost"
	// OutcomeReleased: the handler failed or panicked, or its transaction was
	// not committed, and the key is free for a retry.
	OutcomeReleased Outcome = "released"
	// OutcomeTimedOut: the handler was cut off, and the key is free for a
	// retry. Its context ended by the limit of Config.Reserve, and it returned
	// an error or panicked after that. Its effect may have happened, and the
	// retry repeats it: see [TimedOutError].
	OutcomeTimedOut Outcome = "timed out"
	// OutcomeFailed: the handler failed for good, or the call was refused or
	// could not be made; Event.Err says which.
	OutcomeFailed Outcome = "failed"
	// OutcomeUnknown: the attempts are used up, or whether this call's end
	// is recorded is not known.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeBypassed: the handler ran unprotected: ONCE_DISABLED, a missing
	// key, or a store that failed open (then Err says why).
	OutcomeBypassed Outcome = "bypassed"
)

// Event tells of one call, when it has ended. It holds no key and no payload.
type Event struct {
	Operation string
	// KeyHash is the hash of the key; "" when the request had none. For keys
	// with Scope and ID the record's id is Operation#KeyHash.
	KeyHash string
	Outcome Outcome
	// Attempt is 1 for the first owner of the record, and one more after
	// each takeover. It is 0 where the handler did not run, or ran without
	// the store.
	Attempt int64
	// Lapsed is whether the handler ran because the lease of an earlier attempt
	// had lapsed: that one crashed, was frozen or could not reach the store, and
	// may have had its effect. A retry after a release is not Lapsed.
	Lapsed bool
	// Joined is whether the result came from an identical call in the same
	// process.
	Joined bool
	// Cached is whether the result came from the cache of this process.
	Cached bool
	// Permanent is whether the handler ran and its error was marked
	// [Permanent], also where it was not stored for that. While steps are left
	// to undo it is false: the call has to be repeated.
	Permanent bool
	// Total is the duration of the call; Handler and Store are the times
	// spent in the handler and waiting for the store. They overlap where a
	// heartbeat runs.
	Total, Handler, Store time.Duration
	// RoundTrips is the number of calls to the store, heartbeats included. A
	// retry inside of the store's client is not seen here.
	RoundTrips int
	// Err is what the caller got, or what was passed over: an error of the
	// store in a call that failed open, or in a release.
	Err error
}

// ErrorType names the Go type of Err, without any of its text: for metrics and
// traces, where what an error quotes of a request has no place. Of joined
// errors it names each type once, and it looks behind what fmt.Errorf adds. "" where Err
// is nil, "panic" where the handler panicked.
func (e Event) ErrorType() string { return errorType(e.Err) }

// ErrorIs reports whether target is in the tree of Err, as errors.Is does. A
// handler may return an error whose methods panic, such as a nil pointer: there
// it is false.
func (e Event) ErrorIs(target error) bool { return is(e.Err, target) }

func is(err, target error) (found bool) {
	defer func() {
		if recover() != nil {
			found = false
		}
	}()
	return errors.Is(err, target)
}

func errorType(err error) (name string) {
	defer func() {
		if recover() != nil {
			name = fmt.Sprintf("%T", err)
		}
	}()
	switch e := err.(type) {
	case nil:
		return ""
	case *StoreError:
		return "*idempotent.StoreError"
	case interface{ Unwrap() []error }:
		var types []string
		for _, err := range e.Unwrap() {
			if name := errorType(err); !slices.Contains(types, name) {
				types = append(types, name)
			}
		}
		return strings.Join(types, "; ")
	}
	if err == errPanicked {
		return "panic"
	}
	name = fmt.Sprintf("%T", err)
	if inner := errors.Unwrap(err); inner != nil && name == "*fmt.wrapError" {
		return errorType(inner)
	}
	return name
}

// Observer is told of every call of an [Executor]. It is called by many calls
// at once, before they return, so it must be quick, and it must not panic.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Observers is an Observer that tells several.
type Observers []Observer

// Observe tells each in turn.
func (o Observers) Observe(ctx context.Context, e Event) {
	for _, observer := range o {
		observer.Observe(ctx, e)
	}
}
