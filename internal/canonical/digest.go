package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"sync"
)

// buffers are reused for the canonical text of a digest.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Digest returns the [SHA256] of the canonical form of v, as AppendValue writes
// it, and reports whether v is null, "", [] or {}.
func Digest(v any) (digest string, empty bool, _ error) {
	buf := buffers.Get().(*[]byte)
	text, err := AppendValue((*buf)[:0], v)
	if err == nil {
		digest = SHA256(text)
		switch string(text) {
		case "null", `""`, "[]", "{}":
			empty = true
		}
	}
	*buf = text
	if cap(text) <= 1<<16 { // a rare large payload must not stay in memory
		buffers.Put(buf)
	}
	return digest, empty, err
}

// SHA256 returns the lowercase hex SHA-256 of text.
func SHA256(text []byte) string {
	sum := sha256.Sum256(text)
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], sum[:])
	return string(digits[:])
}

// Equal reports whether a and b are the same bytes, or two spellings of one JSON
// value: a store that keeps values and not their text may spell them differently.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	one, err := Append(nil, a)
	if err != nil {
		return false
	}
	other, err := Append(nil, b)
	return err == nil && bytes.Equal(one, other)
}
