package seal

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/lambda-once/once/idempotent"
)

// What is sealed is a header, a nonce of 12 bytes, the encrypted data, and
// GCM's tag of 16 bytes. The header is the prefix, the version, and the key's
// id and info behind their lengths, of one byte and of two.
const version = 1

const (
	nonceBytes = 12
	tagBytes   = 16
	maxID      = 255
	maxInfo    = 8 << 10 // AWS KMS wraps a key in some 200 bytes, at most 6 KiB
)

func appendHeader(b []byte, k Key) []byte {
	b = append(append(b, idempotent.SealedPrefix...), version)
	b = append(append(b, byte(len(k.ID))), k.ID...)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(k.Info))), k.Info...)
}

// parse takes what is sealed apart. Nothing in it is to be trusted yet.
func parse(sealed []byte) (header []byte, id string, info, box []byte, err error) {
	rest, ok := bytes.CutPrefix(sealed, []byte(idempotent.SealedPrefix))
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

// authenticated is what GCM authenticates beside the data: the header, and the
// place behind its lengths. A header that GCM did not see could be exchanged.
func authenticated(header []byte, p idempotent.Place) []byte {
	b := make([]byte, 0, len(header)+len(p.Record)+len(p.Slot)+16)
	b = append(b, header...)
	for _, part := range [...]string{p.Record, p.Slot} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

// KeyID gives the id of the key that something sealed names, for tools that
// have no keys. It may be forged.
func KeyID(sealed []byte) (id string, ok bool) {
	_, id, _, _, err := parse(sealed)
	return id, err == nil
}

// check refuses keys that cannot be used, or named in a header.
func (k Key) check() error {
	switch {
	case k.ID == "" || len(k.ID) > maxID:
		return fmt.Errorf("the key's id has %d bytes, not 1 to %d", len(k.ID), maxID)
	case len(k.Info) > maxInfo:
		return fmt.Errorf("the key's info has %d bytes, more than %d", len(k.Info), maxInfo)
	case len(k.Secret) != SecretBytes:
		return fmt.Errorf("the key has %d bytes, not %d", len(k.Secret), SecretBytes)
	}
	return nil
}
