package handlers

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
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
