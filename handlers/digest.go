package handlers

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/lambda-once/once/idempotent"
)

// digest is a SHA-256 over a sequence of texts. Every text has its length
// before it, and every list its count, so that no sequence reads as another.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) count(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	d.Write(b[:]) // a hash never fails
}

func (d digest) text(s string) {
	d.count(len(s))
	d.Write([]byte(s))
}

func (d digest) hex() string { return hex.EncodeToString(d.Sum(nil)) }

// digestOf is for keys that are made of several texts.
func digestOf(parts ...string) string {
	d := newDigest()
	for _, part := range parts {
		d.text(part)
	}
	return d.hex()
}

// bodyFingerprint takes two spellings of one JSON value for the same body.
// JSON that has no canonical form, as with a key twice, counts as bytes: what
// to make of it is the handler's business.
func bodyFingerprint(body []byte, isJSON bool) (kind, digest string) {
	if isJSON {
		if digest, err := idempotent.Fingerprint(json.RawMessage(body)); err == nil {
			return "json", digest
		}
	}
	sum := sha256.Sum256(body)
	return "bytes", hex.EncodeToString(sum[:])
}

func looksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}
