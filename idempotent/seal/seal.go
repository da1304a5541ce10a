package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"

	"github.com/lambda-once/once/idempotent"
)

// Options of a Sealer. The zero value of every field stands for its default,
// and a nil *Options for all of them.
type Options struct {
	// AcceptPlain takes what is not sealed as it is. It is for the time
	// after a Sealer was added, until all records of before are gone: as
	// long as it is set, whoever can write the table can plant results.
	// Default false: [ErrPlain].
	AcceptPlain bool
}

// New gives a Sealer for Config.Sealer. It panics without keys.
func New(keys Keys, o *Options) idempotent.Sealer {
	if keys == nil {
		panic("seal: New: the keys are nil")
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

// Seal implements [idempotent.Sealer]. Its errors are a [*KeyError].
func (s *sealer) Seal(ctx context.Context, p idempotent.Place, data []byte) ([]byte, error) {
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
	room := len(idempotent.SealedPrefix) + 4 + len(key.ID) + len(key.Info) + len(data) + aead.Overhead()
	header := appendHeader(make([]byte, 0, room), key)
	return aead.Seal(header, nil, data, authenticated(header, p)), nil
}

// Open implements [idempotent.Sealer]. Its errors are an [*OpenError].
func (s *sealer) Open(ctx context.Context, p idempotent.Place, sealed []byte) ([]byte, error) {
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

// newAEAD gives one that makes its own nonces, at random and before the data.
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
