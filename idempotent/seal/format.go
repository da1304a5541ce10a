package seal

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
)

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
