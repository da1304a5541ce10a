package seal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lambda-once/once/idempotent/driver"
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

// A sealed value consists of a header, a nonce of 12 bytes, the encrypted data,
// and GCM's tag of 16 bytes. The header consists of the prefix, the version, the
// key's ID after its length in one byte, and its info after its length in two.
const version = 1

const (
	nonceBytes = 12
	tagBytes   = 16
	maxID      = 255
	maxInfo    = 8 << 10 // a key wrapped by AWS KMS has some 200 bytes, at most 6 KiB
)

func appendHeader(b []byte, k Key) []byte {
	b = append(append(b, driver.SealedPrefix...), version)
	b = append(append(b, byte(len(k.ID))), k.ID...)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(k.Info))), k.Info...)
}

// parse splits a sealed value into its parts. They are not authenticated yet.
func parse(sealed []byte) (header []byte, id string, info, box []byte, err error) {
	rest, ok := bytes.CutPrefix(sealed, []byte(driver.SealedPrefix))
	switch {
	case !ok:
		return nil, "", nil, nil, ErrPlain
	case len(rest) < 2:
		return nil, "", nil, nil, ErrAltered
	case rest[0] != version:
		return nil, "", nil, nil, ErrVersion
	}
	n := int(rest[1])
	if rest = rest[2:]; len(rest) < n+2 {
		return nil, "", nil, nil, ErrAltered
	}
	id, rest = string(rest[:n]), rest[n:]
	n = int(binary.BigEndian.Uint16(rest))
	if rest = rest[2:]; len(rest) < n+nonceBytes+tagBytes {
		return nil, "", nil, nil, ErrAltered
	}
	info, box = rest[:n], rest[n:]
	return sealed[:len(sealed)-len(box)], id, info, box, nil
}

// authenticated returns the additional data that GCM authenticates: the header,
// which could otherwise be exchanged, and each part of the place after its length.
func authenticated(header []byte, p driver.Place) []byte {
	b := make([]byte, 0, len(header)+len(p.Record)+len(p.Slot)+16)
	b = append(b, header...)
	for _, part := range [...]string{p.Record, p.Slot} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

// KeyID returns the ID of the key that a sealed value names, for tools without
// keys. The ID may be forged.
func KeyID(sealed []byte) (id string, ok bool) {
	_, id, _, _, err := parse(sealed)
	return id, err == nil
}

// check returns an error for a key that cannot be used or named in a header.
func (k Key) check() error {
	switch {
	case k.ID == "" || len(k.ID) > maxID:
		return fmt.Errorf("key ID of %d bytes, want 1 to %d", len(k.ID), maxID)
	case len(k.Info) > maxInfo:
		return fmt.Errorf("key info of %d bytes, want at most %d", len(k.Info), maxInfo)
	case len(k.Secret) != SecretBytes:
		return fmt.Errorf("key of %d bytes, want %d", len(k.Secret), SecretBytes)
	}
	return nil
}
