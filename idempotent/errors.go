package idempotent

import (
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/internal/canonical"
)

// The sentinels of this package's errors, for errors.Is. Each stands for the
// pointer type of the same name, which errors.As finds with its details.
var (
	ErrCompensation      = errors.New("idempotent: compensation failed")
	ErrInProgress        = errors.New("idempotent: in progress")
	ErrInvalidKey        = errors.New("idempotent: invalid key")
	ErrInvalidPayload    = errors.New("idempotent: invalid payload")
	ErrKeyExpired        = errors.New("idempotent: key expired")
	ErrKeyForgotten      = errors.New("idempotent: key forgotten")
	ErrKeyReused         = errors.New("idempotent: key reused")
	ErrLeaseLost         = errors.New("idempotent: lease lost")
	ErrMissingKey        = errors.New("idempotent: missing key")
	ErrNestedCall        = errors.New("idempotent: nested call")
	ErrOutcomeUnknown    = errors.New("idempotent: outcome unknown")
	ErrRecordChanged     = errors.New("idempotent: record changed")
	ErrReplayed          = errors.New("idempotent: replayed failure")
	ErrResultUnavailable = errors.New("idempotent: result unavailable")
	ErrResume            = errors.New("idempotent: not resumed")
	ErrStep              = errors.New("idempotent: step refused")
	ErrStepsLeft         = errors.New("idempotent: steps left")
	ErrStore             = errors.New("idempotent: store failed")
	ErrTimedOut          = errors.New("idempotent: timed out")
)

// An InProgressError reports that a call with the same key is already running.
// Retry later: the retry receives the result, or takes over when the lease ends.
type InProgressError struct {
	RecordID string
	// Until is the end of the lease, or the zero time if it is unknown. A
	// heartbeat may move it. A retry takes over when Config.ClockSkew has passed
	// since.
	Until time.Time
	// Err is the reason why the call stopped waiting, or why it did not take over a
	// claim that has lapsed: the durable execution that made it is not known to have
	// ended. Otherwise it is nil.
	Err error
}

func (e *InProgressError) Error() string { return e.text(error.Error) }

// SafeText returns the text with that of Err which may be logged: Err may be the cause
// with which the program ended the context.
func (e *InProgressError) SafeText() string { return e.text(SafeText) }

func (e *InProgressError) text(of func(error) string) string {
	switch {
	case e.Until.IsZero() && e.Err != nil && e.Err != errWaitOver:
		return fmt.Sprintf("idempotent: key %s is in progress; retry later: %s", e.RecordID, of(e.Err))
	case e.Until.IsZero():
		return fmt.Sprintf("idempotent: key %s is in progress; retry later", e.RecordID)
	}
	until := e.Until.UTC().Format("15:04:05Z")
	return fmt.Sprintf("idempotent: key %s is in progress until %s; retry after that", e.RecordID, until)
}

// Is reports whether target is [ErrInProgress].
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

// Unwrap returns Err.
func (e *InProgressError) Unwrap() error { return e.Err }

// An InvalidKeyError reports that a key cannot be used. The request is wrong,
// and a retry of it fails in the same way.
type InvalidKeyError struct {
	Part   string // the field of Key
	Reason string
}

func (e *InvalidKeyError) Error() string {
	return fmt.Sprintf("idempotent: invalid key: %s %s", e.Part, e.Reason)
}

// SafeText returns the whole text.
func (e *InvalidKeyError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrInvalidKey].
func (e *InvalidKeyError) Is(target error) bool { return target == ErrInvalidKey }

// An InvalidPayloadError reports that a payload has no canonical JSON, and so no
// fingerprint or key. Its text never quotes the payload; that of Err may.
type InvalidPayloadError struct {
	// Offset counts the bytes from the start of the JSON text. The text of a
	// payload that had to be marshalled is the output of json.Marshal. Offset
	// is -1 if there is no text.
	Offset int
	Reason string
	Err    error // the cause, or nil
}

func (e *InvalidPayloadError) Error() string {
	if e.Offset < 0 {
		return ErrInvalidPayload.Error() + ": " + e.Reason
	}
	return fmt.Sprintf("%v: byte %d: %s", ErrInvalidPayload, e.Offset, e.Reason)
}

// SafeText returns the whole text.
func (e *InvalidPayloadError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrInvalidPayload].
func (e *InvalidPayloadError) Is(target error) bool { return target == ErrInvalidPayload }

// Unwrap returns Err.
func (e *InvalidPayloadError) Unwrap() error { return e.Err }

// invalidPayload converts an error of canonical JSON to the type that users know.
func invalidPayload(err error) error {
	if e, ok := err.(*canonical.Error); ok {
		return (*InvalidPayloadError)(e)
	}
	return err
}

// A KeyExpiredError reports that the key came so late that the record of an earlier call
// may have expired (see Config.RefuseLate). There is none. Nothing was run, and every
// retry ends in the same way. Check whether the work was done. If it was not, send it with
// a new key.
type KeyExpiredError struct {
	RecordID string
	Issued   time.Time     // Key.Issued
	Age      time.Duration // of the key, when the call was refused
}

func (e *KeyExpiredError) Error() string {
	return fmt.Sprintf("idempotent: key %s was issued %v ago, and its record may have expired; check whether the work was done, and use a new key if it was not", e.RecordID, e.Age.Round(time.Second))
}

// SafeText returns the whole text.
func (e *KeyExpiredError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrKeyExpired].
func (e *KeyExpiredError) Is(target error) bool { return target == ErrKeyExpired }

// A KeyForgottenError reports that the first attempt began so long ago that a provider
// may have forgotten the keys that it sent (see Config.ProviderMemory). That attempt
// crashed, lost its lease or failed, and its effects may have happened. Nothing was run,
// and nothing runs until a person has checked: "once resolve" records the outcome, and
// after "once release" the next call runs as a first attempt.
type KeyForgottenError struct {
	RecordID string
	Began    time.Time // when the first attempt made its claim
	Attempts int64     // those that count
}

func (e *KeyForgottenError) Error() string {
	return fmt.Sprintf("idempotent: the first attempt with key %s began at %s, and a provider may have forgotten its keys; check what was done, then resolve or release the record", e.RecordID, e.Began.UTC().Format(time.RFC3339))
}

// SafeText returns the whole text.
func (e *KeyForgottenError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrKeyForgotten] or [ErrOutcomeUnknown].
func (e *KeyForgottenError) Is(target error) bool {
	return target == ErrKeyForgotten || target == ErrOutcomeUnknown
}

// A KeyReusedError reports that the key was used before with a different payload.
// Nothing was run. The client must use a new key for a new request.
type KeyReusedError struct{ RecordID string }

func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("idempotent: key %s was used with another payload; use a new key for a new request", e.RecordID)
}

// SafeText returns the whole text.
func (e *KeyReusedError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrKeyReused].
func (e *KeyReusedError) Is(target error) bool { return target == ErrKeyReused }

// A LeaseLostError reports that this call outlived its lease and a later call
// now owns the record. The effects of this call remain, but its result was not
// recorded, and nothing of its transaction was written.
//
// Retry: the retry receives the result that every caller receives, or a
// [KeyReusedError] if the key has since been used for a different payload.
//
// A LeaseLostError is also the cause (context.Cause) of a handler's context that
// was cancelled because the lease was lost.
type LeaseLostError struct {
	RecordID string
	Attempt  int64 // of the call that lost it
}

func (e *LeaseLostError) Error() string {
	return fmt.Sprintf("idempotent: attempt %d lost its lease on key %s to another call; retry to get its result", e.Attempt, e.RecordID)
}

// SafeText returns the whole text.
func (e *LeaseLostError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrLeaseLost].
func (e *LeaseLostError) Is(target error) bool { return target == ErrLeaseLost }

// A MissingKeyError reports that the request has no key, or none for its scope.
// Nothing was run.
type MissingKeyError struct {
	Part string // "id" or "scope"
	// At is where the key was looked for, such as the expression "body.id", or
	// "" if that is not known.
	At string
	// Reason is why a record of package handlers has none, or "".
	Reason string
}

func (e *MissingKeyError) Error() string {
	text := "idempotent: the request has no idempotency key: its " + e.Part
	if e.At != "" {
		text += ", " + e.At + ","
	}
	text += " is missing, null or empty"
	if e.Reason != "" {
		text += "; " + e.Reason
	}
	return text
}

// SafeText returns the whole text.
func (e *MissingKeyError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrMissingKey].
func (e *MissingKeyError) Is(target error) bool { return target == ErrMissingKey }

// A NestedCallError reports that a handler called [Do], or a wrapped handler,
// with the key that it runs under itself. The inner call would wait for its own
// caller, so no retry succeeds. Nothing was run. Call the function directly, or
// use a different operation or key.
type NestedCallError struct {
	RecordID  string
	Operation string // of the inner call
}

func (e *NestedCallError) Error() string {
	return fmt.Sprintf("idempotent: the handler of key %s calls operation %q with the same key again, which never succeeds; call the function directly, or use another operation or key", e.RecordID, e.Operation)
}

// SafeText returns the whole text.
func (e *NestedCallError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrNestedCall].
func (e *NestedCallError) Is(target error) bool { return target == ErrNestedCall }

// A StepError reports that the handler's code used a [Step] wrongly. The step's
// function was not called. The code has to change.
type StepError struct {
	Step   string
	Reason string
}

func (e *StepError) Error() string {
	return fmt.Sprintf("idempotent: step %q was not run: %s", e.Step, e.Reason)
}

// SafeText returns the whole text.
func (e *StepError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrStep].
func (e *StepError) Is(target error) bool { return target == ErrStep }

// A StepsLeftError reports that a durable function met a record with the finished
// steps of an earlier attempt, which was made while the function was not durable.
// It cannot continue or undo them, and would do their work again under new
// downstream keys. Nothing was run, and the steps are still in the record.
//
// Call the code that has these steps until the record is finished. Or check the
// effects of the steps, and complete or remove the record.
type StepsLeftError struct{ RecordID string }

func (e *StepsLeftError) Error() string {
	return fmt.Sprintf("idempotent: key %s has finished steps of an attempt that was not durable, which a durable function would repeat; finish it with the code that has these steps, or resolve the record", e.RecordID)
}

// SafeText returns the whole text.
func (e *StepsLeftError) SafeText() string { return e.Error() }

// Is reports whether target is [ErrStepsLeft].
func (e *StepsLeftError) Is(target error) bool { return target == ErrStepsLeft }
