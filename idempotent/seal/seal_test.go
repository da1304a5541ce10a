package seal_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/seal"
)

func TestSealAndOpen(t *testing.T) {
	for name, s := range map[string]idempotent.Sealer{
		"static": static(t, "a", map[string][]byte{"a": secret(1)}), "data keys": dataKeys(t, &kms{}, "arn", nil),
	} {
		for _, data := range []string{"", "x", `{"id":"p-1"}`, string(make([]byte, 1<<20))} {
			b := sealed(t, s, data)
			if !bytes.HasPrefix(b, []byte(idempotent.SealedPrefix)) || len(data) > 1 && bytes.Contains(b, []byte(data)) {
				t.Errorf("%s: sealed as %.60q", name, b)
			}
			if got, err := s.Open(t.Context(), here, b); err != nil || string(got) != data {
				t.Errorf("%s: opened %.60q, %v", name, got, err)
			}
		}
	}
}

// The vector was made with another implementation of AES-GCM, Node's.
func TestKnownAnswer(t *testing.T) {
	b, err := hex.DecodeString("ff7365616c65643a0104323032360000a0a1a2a3a4a5a6a7a8a9aaab9d3a154967f120cf4f54a5ae52070a8e7d62efa926629ef7207241a5")
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, seal.SecretBytes)
	for i := range key {
		key[i] = byte(i)
	}
	s := static(t, "2026", map[string][]byte{"2026": key})
	if data, err := s.Open(t.Context(), here, b); err != nil || string(data) != `{"id":"p-1"}` {
		t.Errorf("opened %q, %v", data, err)
	}
	if again := sealed(t, s, `{"id":"p-1"}`); len(again) != len(b) || !bytes.Equal(again[:16], b[:16]) {
		t.Errorf("sealed %x", again)
	}
}

// Each record's slots are places of their own, however their names meet.
func TestMovedResultsAreRefused(t *testing.T) {
	s := static(t, "a", map[string][]byte{"a": secret(1)})
	b := sealed(t, s, "secret")
	for _, p := range []idempotent.Place{
		{}, {Record: "pay#2", Slot: "result"}, {Record: "pay#1", Slot: "failure"}, {Record: "pay#1", Slot: "step:result"},
		{Record: "pay#1result"}, {Record: "pay#1r", Slot: "esult"}, {Record: "result", Slot: "pay#1"},
	} {
		if err := refused(t, s, p, b); !errors.Is(err, seal.ErrAltered) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestEveryBitCounts(t *testing.T) {
	for name, s := range map[string]idempotent.Sealer{
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
	if err != nil {
		t.Fatal(err)
	}
	strict, lenient := seal.New(keys, nil), seal.New(keys, &seal.Options{AcceptPlain: true})
	for _, plain := range [][]byte{nil, {}, []byte(`"planted"`), []byte("sealed:")} {
		if err := refused(t, strict, here, plain); !errors.Is(err, seal.ErrPlain) {
			t.Errorf("%q: %v", plain, err)
		}
		if data, err := lenient.Open(t.Context(), here, plain); err != nil || !bytes.Equal(data, plain) || (data == nil) != (plain == nil) {
			t.Errorf("%q: opened %q, %v", plain, data, err)
		}
	}
	// What is sealed is opened all the same, and what is forged refused.
	b := sealed(t, lenient, "secret")
	if data, err := lenient.Open(t.Context(), here, b); err != nil || string(data) != "secret" {
		t.Errorf("opened %q, %v", data, err)
	}
	b[len(b)-1] ^= 1
	refused(t, lenient, here, b)
	refused(t, lenient, here, []byte(idempotent.SealedPrefix))
}

func TestUnknownVersion(t *testing.T) {
	s := static(t, "a", map[string][]byte{"a": secret(1)})
	b := sealed(t, s, "secret")
	b[len(idempotent.SealedPrefix)]++
	if err := refused(t, s, here, b); !errors.Is(err, seal.ErrVersion) {
		t.Error(err)
	}
}

func TestRotation(t *testing.T) {
	old := map[string][]byte{"2025": secret(1)}
	both := map[string][]byte{"2025": secret(1), "2026": secret(2)}
	before, between, after := static(t, "2025", old), static(t, "2025", both), static(t, "2026", both)
	first := sealed(t, before, "first")
	second := sealed(t, after, "second")
	for _, s := range []idempotent.Sealer{between, after} {
		for b, want := range map[*[]byte]string{&first: "first", &second: "second"} {
			if data, err := s.Open(t.Context(), here, *b); err != nil || string(data) != want {
				t.Errorf("opened %q, %v", data, err)
			}
		}
	}
	for b, want := range map[*[]byte]string{&first: "2025", &second: "2026"} {
		if id, ok := seal.KeyID(*b); !ok || id != want {
			t.Errorf("key %q", id)
		}
	}
	gone := static(t, "2026", map[string][]byte{"2026": secret(2)})
	if err := refused(t, gone, here, first); !errors.Is(err, seal.ErrUnknownKey) {
		t.Error(err)
	}
	reused := static(t, "2025", map[string][]byte{"2025": secret(3)})
	if err := refused(t, reused, here, first); !errors.Is(err, seal.ErrAltered) {
		t.Error(err)
	}
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
		if _, err := seal.Static(c.current, c.keys); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestStaticCopiesItsKeys(t *testing.T) {
	key := secret(1)
	s := static(t, "a", map[string][]byte{"a": key})
	b := sealed(t, s, "secret")
	clear(key)
	if _, err := s.Open(t.Context(), here, b); err != nil {
		t.Error(err)
	}
}

func TestKeyIDOfOthers(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("plain"), []byte(idempotent.SealedPrefix), []byte(idempotent.SealedPrefix + "\x01\xffa")} {
		if id, ok := seal.KeyID(b); ok {
			t.Errorf("%q names the key %q", b, id)
		}
	}
}
