package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// SecretBytes is the size of every key: AES-256's.
const SecretBytes = 32

// Key is a key with its name.
type Key struct {
	// ID names the key in all that it seals, where everybody can read it. 1
	// to 255 bytes.
	ID string
	// Info is whatever else is needed to find the key again, such as the
	// key itself, wrapped. It is as public. At most 8 KiB.
	Info []byte
	// Secret is the key, of 32 random bytes: not a password.
	Secret []byte
}

// Keys gives keys. It is used by many calls at once, and its errors quote no
// secrets.
type Keys interface {
	// Current gives the key to seal with. The Sealer does not modify it. No
	// secret may seal more than 2^32 values: with more, two of their random
	// nonces may be equal, which gives both values away.
	Current(ctx context.Context) (Key, error)
	// Find gives the secret of a key that has sealed something. Both
	// arguments may be forged: it wraps [ErrUnknownKey] for an id that it
	// does not trust, before it does anything with info.
	Find(ctx context.Context, id string, info []byte) ([]byte, error)
}

// Static gives fixed keys: the current one seals, and all open. Each is 32
// random bytes under an id that is never given to another key.
//
// Rotate before a key has sealed 2^32 values, about four billion. How is said
// in the package's documentation.
func Static(current string, keys map[string][]byte) (Keys, error) {
	s := static{current: current, keys: make(map[string][]byte, len(keys))}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if err := (Key{ID: id, Secret: keys[id]}).check(); err != nil {
			return nil, fmt.Errorf("seal: key %q: %w", id, err)
		}
		s.keys[id] = bytes.Clone(keys[id])
	}
	if _, ok := s.keys[current]; !ok {
		return nil, fmt.Errorf("seal: there is no key %q, which is to be the current one", current)
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
		return nil, errors.Join(ErrUnknownKey, errors.New("a data key has this id"))
	}
	return secret, nil
}
