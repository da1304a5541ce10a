package idempotent

import "errors"

// Key identifies one request.
type Key struct {
	Scope, ID   string
	Payload     any
	Record      string
	Fingerprint string
}

// ErrMissingKey marks a request without a key.
var ErrMissingKey = errors.New("idempotent: missing key")

// MissingKeyError says which part of the key, "id" or "scope", is missing.
type MissingKeyError struct{ Part string }

func (e *MissingKeyError) Error() string { return "idempotent: missing key: no " + e.Part }

// Is reports whether target is [ErrMissingKey].
func (e *MissingKeyError) Is(target error) bool { return target == ErrMissingKey }
