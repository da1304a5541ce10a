package idempotent

import (
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/internal/canonical"
)

// The sentinels of the errors below, for errors.Is. Every one stands for the
// pointer type of the same name, which errors.As gives with its details.
var (
	ErrInProgress        = errors.New("idempotent: in progress")
	ErrInvalidKey        = errors.New("idempotent: invalid key")
	ErrInvalidPayload    = errors.New("idempotent: invalid payload")
	ErrKeyReused         = errors.New("idempotent: key reused")
	ErrLeaseLost         = errors.New("idempotent: lease lost")
	ErrMissingKey        = errors.New("idempotent: missing key")
	ErrNestedCall        = errors.New("idempotent: nested call")
	ErrOutcomeUnknown    = errors.New("idempotent: outcome unknown")
	ErrReplayed          = errors.New("idempotent: replayed failure")
	ErrResultUnavailable = errors.New("idempotent: result unavailable")
	ErrStore             = errors.New("idempotent: store failed")
	ErrTimedOut          = errors.New("idempotent: timed out")
)

// ConfigError reports every mistake in the arguments of [New], a line each.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// InProgressError says that another call with the same key is running. Retry
// after a while: the retry gets the result, or takes over once the lease of
// the other has lapsed.
type InProgressError struct {
	KeyHash string
	// Until is when the lease ends, as far as known. A heartbeat may move
	// it. The zero time is unknown.
	Until time.Time
	// Err is why the wait was given up, where there was one.
	Err error
}

func (e *InProgressError) Error() string {
	return fmt.Sprintf("idempotent: a call with this key (%s) is in progress; retry later", short(e.KeyHash))
}

// Is reports whether target is ErrInProgress.
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

// Unwrap gives why the wait was given up.
func (e *InProgressError) Unwrap() error { return e.Err }

// InvalidKeyError says that a key cannot be used. The request is wrong, and a
// retry of it fails in the same way.
type InvalidKeyError struct {
	Part   string // the field of Key
	Reason string
}

func (e *InvalidKeyError) Error() string {
	return fmt.Sprintf("idempotent: invalid key: %s %s", e.Part, e.Reason)
}

// Is reports whether target is ErrInvalidKey.
func (e *InvalidKeyError) Is(target error) bool { return target == ErrInvalidKey }

// InvalidPayloadError says that a payload has no canonical JSON, and so no
// fingerprint or key. Its text never quotes the payload; that of Err may.
type InvalidPayloadError struct {
	// Offset in bytes from the start of the JSON text, which is the output
	// of json.Marshal for a payload that had to be marshalled. -1 where
	// there is no text.
	Offset int
	// Reason is what is wrong.
	Reason string
	// Err is the cause, where there is one.
	Err error
}

func (e *InvalidPayloadError) Error() string {
	if e.Offset < 0 {
		return ErrInvalidPayload.Error() + ": " + e.Reason
	}
	return fmt.Sprintf("%v: byte %d: %s", ErrInvalidPayload, e.Offset, e.Reason)
}

// Is reports whether target is [ErrInvalidPayload].
func (e *InvalidPayloadError) Is(target error) bool { return target == ErrInvalidPayload }

// Unwrap gives the cause, or nil.
func (e *InvalidPayloadError) Unwrap() error { return e.Err }

// invalidPayload names an error of canonical JSON as users know it.
func invalidPayload(err error) error {
	if e, ok := err.(*canonical.Error); ok {
		return (*InvalidPayloadError)(e)
	}
	return err
}

// KeyReusedError says that the key was used before with another payload.
// Nothing was run. The client must use a new key for a new request.
type KeyReusedError struct{ KeyHash string }

func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("idempotent: this key (%s) was used with another payload; use a new key for a new request", short(e.KeyHash))
}

// Is reports whether target is ErrKeyReused.
func (e *KeyReusedError) Is(target error) bool { return target == ErrKeyReused }

// LeaseLostError says that this call outlived its lease and another now owns
// the record. What this call did is done, but its result was not recorded; of
// its transaction nothing was written.
// Retry: the retry gets the one answer that all callers get, or a
// [KeyReusedError] if the key was since used for another payload.
//
// It is also the cause (context.Cause) of a handler's context that ended
// because the lease was lost.
type LeaseLostError struct {
	KeyHash string
	Attempt int64 // of the call that lost it
}

func (e *LeaseLostError) Error() string {
	return fmt.Sprintf("idempotent: attempt %d lost its lease on this key (%s) to another call; retry to get its result", e.Attempt, short(e.KeyHash))
}

// Is reports whether target is ErrLeaseLost.
func (e *LeaseLostError) Is(target error) bool { return target == ErrLeaseLost }

// MissingKeyError says that the request has no key, or none for its scope.
// Nothing was run.
type MissingKeyError struct{ Part string } // "id" or "scope"

func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("idempotent: the request has no idempotency key: its %s is missing, null or empty", e.Part)
}

// Is reports whether target is ErrMissingKey.
func (e *MissingKeyError) Is(target error) bool { return target == ErrMissingKey }

// NestedCallError reports that a handler called [Do], or a wrapped handler,
// with the key that it runs under itself. The inner call would wait for its own
// caller, so no retry succeeds. Nothing was run. Call the function directly, or
// use another operation or another key.
type NestedCallError struct {
	KeyHash   string
	Operation string // of the inner call
}

func (e *NestedCallError) Error() string {
	return fmt.Sprintf("idempotent: the handler of key %s calls operation %q with the same key again, which never succeeds; call the function directly, or use another operation or key", short(e.KeyHash), e.Operation)
}

// Is reports whether target is ErrNestedCall.
func (e *NestedCallError) Is(target error) bool { return target == ErrNestedCall }

// short is enough of a key's hash to find the record by, and to read.
func short(hash string) string { return hash[:min(len(hash), 12)] }
