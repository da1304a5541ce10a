package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"

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
	if err == nil {
		err = key.check()
	}
	if err != nil {
		return nil, &KeyError{KeyID: key.ID, Err: err}
	}
	aead, err := newAEAD(key.Secret)
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
	aead, err := newAEAD(secret)
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
func newAEAD(secret []byte) (cipher.AEAD, error) {
	if err := (Key{ID: "-", Secret: secret}).check(); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
