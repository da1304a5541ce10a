package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// SecretBytes is the size of every key, as AES-256 requires.
const SecretBytes = 32

// A Key is a secret and its name.
type Key struct {
	// ID names the key in every value that it seals, where everybody can
	// read it. It has 1 to 255 bytes.
	ID string
	// Info is also public. It contains further data that Keys needs to find the
	// key, such as the wrapped key itself. It has at most 8 KiB.
	Info []byte
	// Secret is the key: 32 random bytes, and not a password.
	Secret []byte
}

// Keys is a source of keys. Implementations are safe for concurrent use, and
// their errors quote no secrets.
type Keys interface {
	// Current returns the key to seal with. The Sealer does not modify it.
	// A secret must not seal more than 2^32 values. With more, two random
	// nonces may be equal, which reveals both values.
	Current(ctx context.Context) (Key, error)
	// Find returns the secret of a key that sealed a value. Both arguments
	// may be forged. For an ID that it does not trust, Find returns an error
	// that wraps [ErrUnknownKey], and does not use info.
	Find(ctx context.Context, id string, info []byte) ([]byte, error)
}

// Static returns fixed keys. The current one seals, and all of them open. Each
// has 32 random bytes and an ID that is never used again.
//
// Rotate a key before it has sealed 2^32 values, about four billion. The package
// comment describes how.
func Static(current string, keys map[string][]byte) (Keys, error) {
	s := static{current: current, keys: make(map[string][]byte, len(keys))}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if err := (Key{ID: id, Secret: keys[id]}).check(); err != nil {
			return nil, fmt.Errorf("seal: key %q: %w", id, err)
		}
		s.keys[id] = bytes.Clone(keys[id])
	}
	if _, ok := s.keys[current]; !ok {
		return nil, fmt.Errorf("seal: the current key %q is not among the keys", current)
	}
	return &s, nil
}

type static struct {
	current string
	keys    map[string][]byte
}

func (s *static) Current(context.Context) (Key, error) {
	return Key{ID: s.current, Secret: s.keys[s.current]}, nil
}

func (s *static) Find(_ context.Context, id string, info []byte) ([]byte, error) {
	secret, ok := s.keys[id]
	switch {
	case !ok:
		return nil, ErrUnknownKey
	case len(info) > 0:
		return nil, errors.Join(ErrUnknownKey, errors.New("a data key has this ID"))
	}
	return secret, nil
}
