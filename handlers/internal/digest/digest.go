// Package digest makes one SHA-256 of several texts, for keys and
// fingerprints. Every text follows its length, and every list its count, so
// that no two sequences have the same digest.
package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/canonical"
)

// Of returns the digest of several texts.
func Of(parts ...string) string {
	d := New()
	for _, part := range parts {
		d.Text(part)
	}
	return d.Hex()
}

// A Digest is a digest under construction.
type Digest struct{ hash hash.Hash }

// New returns the digest of nothing.
func New() Digest { return Digest{sha256.New()} }

// Count adds the length of a list.
func (d Digest) Count(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	d.hash.Write(b[:]) // a hash never fails
}

// Text adds a text.
func (d Digest) Text(s string) {
	d.Count(len(s))
	d.hash.Write([]byte(s))
}

// Hex returns the digest in hexadecimal.
func (d Digest) Hex() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// Body returns the digest of a body and how it was taken. Two spellings of one
// JSON value have the same digest. JSON without a canonical form, as with a
// duplicate member, is digested as bytes: the handler interprets it.
func Body(body []byte, isJSON bool) (kind, digest string) {
	if isJSON {
		if digest, err := idempotent.Fingerprint(json.RawMessage(body)); err == nil {
			return "json", digest
		}
	}
	return "bytes", canonical.SHA256(body)
}

// LooksLikeJSON reports whether text begins as a JSON object or array does.
func LooksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}
