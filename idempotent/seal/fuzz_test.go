package seal_test

import (
	"bytes"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/seal"
)

// FuzzOpen: whatever is stored, only what was sealed for the place opens.
func FuzzOpen(f *testing.F) {
	keys := map[string][]byte{"a": secret(1), "b": secret(2)}
	fixed := static(f, "a", keys)
	wrapped := dataKeys(f, &kms{}, "arn", nil)
	f.Add(sealed(f, fixed, "secret"))
	f.Add(sealed(f, wrapped, "secret"))
	f.Add([]byte(driver.SealedPrefix))
	f.Add([]byte(driver.SealedPrefix + "\x01\x01a\x00\x00"))
	f.Add([]byte(driver.SealedPrefix + "\x01\xff\xff\xff"))
	f.Add([]byte(`{"plain":true}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		for _, s := range []driver.Sealer{fixed, wrapped} {
			data, err := s.Open(t.Context(), here, b)
			// Nonces are random: each process of the fuzzer has seeds of its own.
			if err == nil && string(data) != "secret" || err != nil && data != nil {
				t.Fatalf("%x opened as %q, %v", b, data, err)
			}
			if !bytes.Equal(b, before) {
				t.Fatal("Open has changed what is stored")
			}
		}
		_, _ = seal.KeyID(b)
	})
}
