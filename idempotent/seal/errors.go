package seal

import (
	"errors"
	"fmt"
)

// Reasons why a stored value cannot be opened. An [*OpenError] wraps one of them,
// or an error of the source of keys.
var (
	// ErrPlain reports that the value is not sealed. It was planted, or it is
	// older than the Sealer. For the latter, see Options.AcceptPlain.
	ErrPlain = errors.New("value is not sealed")
	// ErrUnknownKey reports that no key with this ID is configured. Configure
	// it until the values that it sealed are gone.
	ErrUnknownKey = errors.New("unknown key")
	// ErrAltered reports that the value was altered, or sealed for a different
	// place or with a different key of the same ID.
	ErrAltered = errors.New("value was altered, or sealed for a different place or with a different key of this ID")
	// ErrVersion reports that a later version of this package sealed the
	// value. Update the package.
	ErrVersion = errors.New("format of a later version")
)

// An OpenError reports that a stored value cannot be opened. The work is done,
// and does not run again.
type OpenError struct {
	KeyID string // key that the value names, or ""
	Err   error
}

func (e *OpenError) Error() string {
	if e.KeyID == "" {
		return fmt.Sprintf("seal: open stored value: %v", e.Err)
	}
	return fmt.Sprintf("seal: open stored value with key %q: %v", e.KeyID, e.Err)
}

// SafeText returns the whole text.
func (e *OpenError) SafeText() string { return e.Error() }

// Unwrap returns Err.
func (e *OpenError) Unwrap() error { return e.Err }

// A KeyError reports that there is no key to seal with.
type KeyError struct {
	KeyID string // "" if unknown
	Err   error
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("seal: no key %q to seal with: %v", e.KeyID, e.Err)
}

// SafeText returns the whole text.
func (e *KeyError) SafeText() string { return e.Error() }

// Unwrap returns Err.
func (e *KeyError) Unwrap() error { return e.Err }
