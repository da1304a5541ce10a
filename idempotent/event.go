package idempotent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Outcome is how a call ended.
type Outcome string

// The outcomes of a call.
const (
	// OutcomeExecuted: the handler ran in the first attempt, and its result is
	// recorded.
	OutcomeExecuted Outcome = "executed"
	// OutcomeTakeover: the handler ran after an earlier attempt that counts,
	// which lapsed or failed, and its result is recorded.
	OutcomeTakeover Outcome = "takeover"
	// OutcomeReplayed: the caller received the stored result or error. The
	// handler did not run, or ran in vain (see Config.Optimistic).
	OutcomeReplayed Outcome = "replayed"
	// OutcomeRepeated: the handler ran under Config.Optimistic, attached nothing to
	// its transaction, and met the finished record of a different call. The caller
	// received its contents, and the effects of the handler happened again.
	OutcomeRepeated Outcome = "repeated"
	// OutcomeConflict: a call with the key is already running.
	OutcomeConflict Outcome = "conflict"
	// OutcomeMismatch: the key was used with a different payload.
	OutcomeMismatch Outcome = "mismatch"
	// OutcomeExpired: the key came so late that the record of an earlier call may have
	// expired, and there was none. Nothing ran: see Config.RefuseLate.
	OutcomeExpired Outcome = "expired"
	// OutcomeForgotten: an earlier attempt began so long ago that a provider may have
	// forgotten its keys. Nothing ran, and the record waits for a person: see
	// Config.ProviderMemory.
	OutcomeForgotten Outcome = "forgotten"
	// OutcomeLeaseLost: the handler ran, and a later call owned the record when it
	// returned. The caller received the result of that call if there was one.
	OutcomeLeaseLost Outcome = "lease lost"
	// OutcomeReleased: the handler failed or panicked, or its transaction was
	// not committed. The key is free for a retry.
	OutcomeReleased Outcome = "released"
	// OutcomeTimedOut: the handler returned an error or panicked after the end
	// of its time. Its effects may have happened, the key is free, and a retry
	// repeats them: see [TimedOutError].
	OutcomeTimedOut Outcome = "timed out"
	// OutcomeFailed: the handler failed for good, or the call was refused or
	// could not be made. Event.Err says which.
	OutcomeFailed Outcome = "failed"
	// OutcomeUnknown: the attempts are used up, or it is unknown whether the
	// result of this call is recorded.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeNotRun: a batch handler claimed the record before its turn, and the
	// handler did not run. The batch ended before its turn came, or the record is
	// called again in its turn.
	OutcomeNotRun Outcome = "not run"
	// OutcomeSuspended: a durable function was suspended or failed, or a call
	// within it failed after the end of the invocation. The claim waits for the
	// next invocation of the same execution. Err is nil after a suspension.
	OutcomeSuspended Outcome = "suspended"
	// OutcomeBypassed: the handler ran unprotected, because of ONCE_DISABLED, a
	// missing key, or a store that failed open (Err then says why).
	OutcomeBypassed Outcome = "bypassed"
)

// An Event describes one finished call. It contains no key and no payload.
type Event struct {
	Operation string
	// RecordID is the id of the record, or "" if the request has no key. A Key.Record
	// may quote the request: in its place, RecordID has the first 12 digits of KeyHash.
	// Both find the record with "once inspect".
	RecordID string
	// KeyHash is the hash of the key, or "" if the request has none.
	KeyHash string
	Outcome Outcome
	// Attempt is 1 for the first owner of the record, and one more after each
	// takeover. It is 0 if the handler did not run, or ran without the store.
	Attempt int64
	// Lapsed reports whether the call claimed the record because the lease of an
	// earlier attempt had lapsed. That attempt crashed, was frozen or could not
	// reach the store, and may have had its effects. A retry after a release is
	// not Lapsed.
	Lapsed bool
	// Joined reports whether the result came from an identical call in this
	// process.
	Joined bool
	// Cached reports whether the result came from the cache of this process.
	Cached bool
	// Permanent reports whether the handler ran and its error was wrapped with
	// [Permanent], even if it was not stored. It is false while steps are left
	// to undo: the call has to be repeated.
	Permanent bool
	// Total is the duration of the call, without its waits in a batch: for its
	// turn, and for writes of others that share a request. Handler and Store are
	// the times spent in the handler and waiting for the store, which overlap
	// during heartbeats.
	Total, Handler, Store time.Duration
	// RoundTrips is the number of calls to the store, with heartbeats, but
	// without retries inside of the store's client.
	RoundTrips int
	// Err is the caller's error, joined with suppressed ones: errors of the
	// store in a release, in a read before the claim (see Config.ReadFirst), or
	// in a call that failed open.
	Err error
}

// ErrorType returns the name of the Go type of Err, without any of its text,
// for metrics and traces. It names each type of joined errors once, and looks
// behind the wrapper of fmt.Errorf. It is "" if Err is nil, and "panic" if the
// handler panicked.
func (e Event) ErrorType() string { return errorType(e.Err) }

// ErrorIs reports whether target is in the tree of Err, as errors.Is does. It
// is false for an error whose methods panic, such as a nil pointer.
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

// A Refusal is the reason why a call was refused because of its request, before
// its handler ran. A conflict and a mismatch are outcomes of their own.
//
// An error of a key function names its Refusal with a method Refusal, as
// [MissingKeyError] does.
type Refusal string

// The reasons of a refusal.
const (
	// RefusalMissingKey: the request has no key.
	RefusalMissingKey Refusal = "missing key"
	// RefusalInvalidKey: its key cannot be used.
	RefusalInvalidKey Refusal = "invalid key"
	// RefusalUnknownCaller: its scope found nothing, or nothing exact. If it is
	// the reason of every call, the scope does not fit the source of the event.
	RefusalUnknownCaller Refusal = "unknown caller"
	// RefusalUnreadable: its body or payload cannot be decoded.
	RefusalUnreadable Refusal = "unreadable"
	// RefusalTooLarge: its body is too large.
	RefusalTooLarge Refusal = "too large"
	// RefusalRejected: a function of the program refused it.
	RefusalRejected Refusal = "rejected"
)

var refusals = []Refusal{RefusalMissingKey, RefusalInvalidKey, RefusalUnknownCaller, RefusalUnreadable, RefusalTooLarge, RefusalRejected}

// Refusal returns why the call was refused because of its request, or "" if it
// was not. The values are few, for metrics.
func (e Event) Refusal() Refusal {
	if e.Outcome != OutcomeFailed || e.Attempt > 0 || e.ErrorIs(ErrStore) {
		return ""
	}
	return refusalOf(e.Err)
}

func refusalOf(err error) (why Refusal) {
	defer func() {
		if recover() != nil { // of the methods of an error, such as a nil pointer
			why = ""
		}
	}()
	var named interface{ Refusal() Refusal }
	if !errors.As(err, &named) {
		return ""
	}
	if why = named.Refusal(); why != "" && !slices.Contains(refusals, why) {
		return RefusalRejected
	}
	return why
}

// Refusal returns RefusalUnknownCaller if the key has no scope.
func (e *MissingKeyError) Refusal() Refusal {
	if e.Part == "scope" {
		return RefusalUnknownCaller
	}
	return RefusalMissingKey
}

// Refusal returns RefusalUnknownCaller if the scope is invalid.
func (e *InvalidKeyError) Refusal() Refusal {
	if e.Part == "Scope" {
		return RefusalUnknownCaller
	}
	return RefusalInvalidKey
}

// Refusal returns RefusalUnreadable.
func (e *InvalidPayloadError) Refusal() Refusal { return RefusalUnreadable }
