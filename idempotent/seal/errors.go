package seal

import (
	"errors"
	"fmt"
)

// Why something does not open, for errors.Is with an [*OpenError].
var (
	// ErrPlain: it is not sealed. Somebody has planted it, or it is older
	// than the Sealer; for the latter there is Options.AcceptPlain.
	ErrPlain = errors.New("it is not sealed")
	// ErrUnknownKey: its key is none that was given here. Give it, to open
	// only, until what it has sealed is gone.
	ErrUnknownKey = errors.New("its key is not known here")
	// ErrAltered: it was altered, or sealed for another place or with
	// another key of the same id.
	ErrAltered = errors.New("it was altered, or sealed for another place, or with another key of this id")
	// ErrVersion: a later version of this package has sealed it. Update.
	ErrVersion = errors.New("this version does not know its format")
)

// OpenError says that something stored was not opened. The work is done, and
// is not run again.
type OpenError struct {
	KeyID string // that it names; "" where it names none
	Err   error  // one of the above, or what the keys' source said
}

func (e *OpenError) Error() string {
	if e.KeyID == "" {
		return fmt.Sprintf("seal: what is stored cannot be opened: %v", e.Err)
	}
	return fmt.Sprintf("seal: what is stored, with the key %q, cannot be opened: %v", e.KeyID, e.Err)
}

// Unwrap gives Err.
func (e *OpenError) Unwrap() error { return e.Err }

// KeyError says that there is no key to seal with.
type KeyError struct {
	KeyID string // "" where it is not known
	Err   error
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("seal: no key %q to seal with: %v", e.KeyID, e.Err)
}

// Unwrap gives Err.
func (e *KeyError) Unwrap() error { return e.Err }
