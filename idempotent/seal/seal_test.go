package seal_test

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/check"
)

func TestSealAndOpen(t *testing.T) {
	for name, s := range map[string]driver.Sealer{
		"static": static(t, "a", map[string][]byte{"a": secret(1)}), "data keys": dataKeys(t, &kms{}, "arn", nil),
	} {
		for _, data := range []string{"", "x", `{"id":"p-1"}`, string(make([]byte, 1<<20))} {
			b := sealed(t, s, data)
			if !bytes.HasPrefix(b, []byte(driver.SealedPrefix)) || len(data) > 1 && bytes.Contains(b, []byte(data)) {
				t.Errorf("%s: sealed as %.60q", name, b)
			}
			opens(t, s, b, data, name)
		}
	}
}

// The vector was made with another implementation of AES-GCM, Node's.
func TestKnownAnswer(t *testing.T) {
	b, err := hex.DecodeString("ff7365616c65643a0104323032360000a0a1a2a3a4a5a6a7a8a9aaab9d3a154967f120cf4f54a5ae52070a8e7d62efa926629ef7207241a5")
	check.Must(t, err)
	key := make([]byte, seal.SecretBytes)
	for i := range key {
		key[i] = byte(i)
	}
	s := static(t, "2026", map[string][]byte{"2026": key})
	opens(t, s, b, `{"id":"p-1"}`)
	again := sealed(t, s, `{"id":"p-1"}`)
	check.Equal(t, len(again), len(b))
	check.Equal(t, string(again[:16]), string(b[:16]))
}

// Each record's slots are places of their own, however their names meet.
func TestMovedResultsAreRefused(t *testing.T) {
	s := static(t, "a", map[string][]byte{"a": secret(1)})
	b := sealed(t, s, "secret")
	for _, p := range []driver.Place{
		{}, {Record: "pay#2", Slot: "result"}, {Record: "pay#1", Slot: "failure"}, {Record: "pay#1", Slot: "step:result"},
		{Record: "pay#1result"}, {Record: "pay#1r", Slot: "esult"}, {Record: "result", Slot: "pay#1"},
	} {
		check.Is(t, refused(t, s, p, b), seal.ErrAltered, p)
	}
}

func TestEveryBitCounts(t *testing.T) {
	for name, s := range map[string]driver.Sealer{
		"static":    static(t, "a", map[string][]byte{"a": secret(1), "`": secret(1)}), // one bit apart
		"data keys": dataKeys(t, &kms{}, "arn", &seal.DataKeyOptions{Former: []string{"arl"}}),
	} {
		t.Run(name, func(t *testing.T) {
			b := sealed(t, s, "secret")
			for i := range b {
				for bit := range 8 {
					changed := bytes.Clone(b)
					changed[i] ^= 1 << bit
					refused(t, s, here, changed)
				}
				refused(t, s, here, b[:i])
				refused(t, s, here, slices.Insert(bytes.Clone(b), i, 0))
			}
			refused(t, s, here, append(bytes.Clone(b), 0))
		})
	}
}

func TestPlainIsRefused(t *testing.T) {
	keys, err := seal.Static("a", map[string][]byte{"a": secret(1)})
	check.Must(t, err)
	strict, lenient := seal.New(keys, nil), seal.New(keys, &seal.Options{AcceptPlain: true})
	for _, plain := range [][]byte{nil, {}, []byte(`"planted"`), []byte("sealed:")} {
		check.Is(t, refused(t, strict, here, plain), seal.ErrPlain, plain)
		data, err := lenient.Open(t.Context(), here, plain)
		check.Nil(t, err)
		check.Equal(t, string(data), string(plain))
		check.Equal(t, data == nil, plain == nil)
	}
	// What is sealed is opened all the same, and what is forged refused.
	b := sealed(t, lenient, "secret")
	opens(t, lenient, b, "secret")
	b[len(b)-1] ^= 1
	refused(t, lenient, here, b)
	refused(t, lenient, here, []byte(driver.SealedPrefix))
}

func TestUnknownVersion(t *testing.T) {
	s := static(t, "a", map[string][]byte{"a": secret(1)})
	b := sealed(t, s, "secret")
	b[len(driver.SealedPrefix)]++
	check.Is(t, refused(t, s, here, b), seal.ErrVersion)
}

func TestRotation(t *testing.T) {
	old := map[string][]byte{"2025": secret(1)}
	both := map[string][]byte{"2025": secret(1), "2026": secret(2)}
	before, between, after := static(t, "2025", old), static(t, "2025", both), static(t, "2026", both)
	first := sealed(t, before, "first")
	second := sealed(t, after, "second")
	for _, s := range []driver.Sealer{between, after} {
		for b, want := range map[*[]byte]string{&first: "first", &second: "second"} {
			opens(t, s, *b, want)
		}
	}
	for b, want := range map[*[]byte]string{&first: "2025", &second: "2026"} {
		id, ok := seal.KeyID(*b)
		check.True(t, ok)
		check.Equal(t, id, want)
	}
	gone := static(t, "2026", map[string][]byte{"2026": secret(2)})
	check.Is(t, refused(t, gone, here, first), seal.ErrUnknownKey)
	reused := static(t, "2025", map[string][]byte{"2025": secret(3)})
	check.Is(t, refused(t, reused, here, first), seal.ErrAltered)
}

func TestNoncesDoNotRepeat(t *testing.T) {
	s := static(t, "a", map[string][]byte{"a": secret(1)})
	seen := map[string]bool{}
	header := len(sealed(t, s, "")) - 12 - 16
	for range 100_000 {
		nonce := string(sealed(t, s, "same")[header : header+12])
		if seen[nonce] {
			t.Fatalf("the nonce %x came twice", nonce)
		}
		seen[nonce] = true
	}
}

func TestStaticRefusesMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		current string
		keys    map[string][]byte
	}{
		"no keys":     {"a", nil},
		"no current":  {"b", map[string][]byte{"a": secret(1)}},
		"short key":   {"a", map[string][]byte{"a": secret(1)[1:]}},
		"long key":    {"a", map[string][]byte{"a": append(secret(1), 1)}},
		"empty id":    {"", map[string][]byte{"": secret(1)}},
		"long id":     {"a", map[string][]byte{"a": secret(1), string(make([]byte, 256)): secret(2)}},
		"AES-128 key": {"a", map[string][]byte{"a": secret(1), "b": secret(2)[:16]}},
	} {
		_, err := seal.Static(c.current, c.keys)
		check.Failed(t, err, name)
	}
}

func TestStaticCopiesItsKeys(t *testing.T) {
	key := secret(1)
	s := static(t, "a", map[string][]byte{"a": key})
	b := sealed(t, s, "secret")
	clear(key)
	_, err := s.Open(t.Context(), here, b)
	check.Nil(t, err)
}

func TestKeyIDOfOthers(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("plain"), []byte(driver.SealedPrefix), []byte(driver.SealedPrefix + "\x01\xffa")} {
		_, ok := seal.KeyID(b)
		check.False(t, ok, "names the key", b)
	}
}

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
