package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
)

// Options are the options of [New]. A field with its zero value, or a nil
// *Options, stands for the defaults.
type Options struct {
	// AcceptPlain accepts values that are not sealed. Set it after a Sealer was
	// added, until all older records are gone. While it is set, every program
	// that may write to the table can plant results. Default false: [ErrPlain].
	AcceptPlain bool
}

// New returns a Sealer for Config.Sealer. It panics if keys is nil.
func New(keys Keys, o *Options) driver.Sealer {
	if keys == nil {
		panic("seal: New: keys is nil")
	}
	s := sealer{keys: keys}
	if o != nil {
		s.options = *o
	}
	return &s
}

type sealer struct {
	keys    Keys
	options Options
}

// Seal implements [driver.Sealer]. Its errors are a [*KeyError].
func (s *sealer) Seal(ctx context.Context, p driver.Place, data []byte) ([]byte, error) {
	key, err := s.keys.Current(ctx)
	var aead cipher.AEAD
	if err == nil {
		aead, err = newAEAD(key)
	}
	if err != nil {
		return nil, &KeyError{KeyID: key.ID, Err: err}
	}
	room := len(driver.SealedPrefix) + 4 + len(key.ID) + len(key.Info) + len(data) + aead.Overhead()
	header := appendHeader(make([]byte, 0, room), key)
	return aead.Seal(header, nil, data, authenticated(header, p)), nil
}

// Open implements [driver.Sealer]. Its errors are an [*OpenError].
func (s *sealer) Open(ctx context.Context, p driver.Place, sealed []byte) ([]byte, error) {
	header, id, info, box, err := parse(sealed)
	if err == ErrPlain && s.options.AcceptPlain {
		return sealed, nil
	}
	if err != nil {
		return nil, &OpenError{Err: err}
	}
	secret, err := s.keys.Find(ctx, id, info)
	if err != nil {
		return nil, &OpenError{KeyID: id, Err: err}
	}
	aead, err := newAEAD(Key{ID: id, Secret: secret})
	if err != nil {
		return nil, &OpenError{KeyID: id, Err: err}
	}
	data, err := aead.Open(nil, nil, box, authenticated(header, p))
	if err != nil {
		return nil, &OpenError{KeyID: id, Err: ErrAltered}
	}
	return data, nil
}

// newAEAD returns a cipher that puts a random nonce before the data.
func newAEAD(key Key) (cipher.AEAD, error) {
	if err := key.check(); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key.Secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

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
