package storetest

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testBytes(t *testing.T, h Harness) {
	t.Run("data", func(t *testing.T) {
		for name, data := range map[string][]byte{
			"JSON":           []byte(`{"a":[1,null,"é"]}`),
			"JSON null":      []byte("null"),
			"text":           []byte("not JSON"),
			"spaces":         []byte("  1  "),
			"big number":     []byte("9007199254740993"),
			"empty":          {},
			"absent":         nil,
			"one NUL":        {0},
			"every byte":     allBytes(),
			"broken UTF-8":   []byte("\xff\xfe\x80\xc3"),
			"lone surrogate": []byte("\xed\xa0\x80"),
			"compressible":   []byte(strings.Repeat("again and again ", 4096)),
			"incompressible": noise(64 << 10),
			"looks like gz":  append([]byte{0x1f, 0x8b, 0x08, 0x00}, noise(100)...),
			"looks like zst": append([]byte{0x28, 0xb5, 0x2f, 0xfd}, noise(100)...),
		} {
			h.test(t, name, kept(driver.Change{Data: data}))
		}
	})
	t.Run("keys", func(t *testing.T) {
		for name, key := range map[string]string{
			"1 KB":        strings.Repeat("k", 1023),
			"1 KB of é":   strings.Repeat("é", 511) + "e",
			"NUL":         "a\x00b",
			"control":     "\x01\x02\n\r\t\x7f",
			"separators":  "a#b#c|d/e\\f.g:h",
			"composed":    "caf\u00e9",
			"decomposed":  "cafe\u0301",
			"emoji":       "💳💳",
			"bidi":        "\u202eabc\u202c",
			"byte order":  "\ufeffid",
			"replacement": "\ufffd",
			"spaces":      "  ",
			"trailing":    "id ",
			"expression":  "attribute_not_exists(#id)",
		} {
			h.test(t, name, func(s *subject) {
				s.id = key
				s.do(claimed, meets(claim("bob"), now))
				s.another("x").check()
				s.do(wins(del))
			})
		}
	})
	odd := claim("owner\x00 é 💳")
	odd.Fingerprint = "\n" + strings.Repeat("f", 1000)
	reason := driver.Change{Status: driver.Failed, Unavailable: "line\nline \x00 é " + strings.Repeat("u", 1000)}
	h.test(t, "other strings", creates(odd, now), wins(reason))
	t.Run("references", func(t *testing.T) {
		for name, reference := range map[string]string{
			"plain":        "once/0123abcd",
			"like data":    `{"a":1}`,
			"like a tag":   "u",
			"NUL":          "a\x00b",
			"broken UTF-8": "\xff\xfe\x80\xc3",
			"2 KB":         strings.Repeat("p", 2<<10),
		} {
			h.test(t, name, kept(driver.Change{Payload: reference}))
		}
	})
	h.test(t, "the store keeps no reference to arguments", keepsNoReference)
}

// kept finishes a record with the result of c, and recreates it.
func kept(c driver.Change) act {
	return func(s *subject) {
		for _, status := range []driver.Status{driver.Completed, driver.Failed} {
			s := s.another(string(status))
			c.Status, c.Expires = status, now.Add(retention)
			s.do(claimed, wins(c), meets(claim("bob"), now))
			s.another(" recreated").do(creates(s.item, time.Time{}))
		}
	}
}

// keepsNoReference modifies arguments after a call, and a map that Get returned.
func keepsNoReference(s *subject) {
	c := step("charge", "right")
	s.do(claimed, wins(c))
	s.item = withStep(claim("alice"), "charge", "right")
	s.item.ID = s.id
	copy(c.Steps["charge"], "WRONG")
	c.Steps["other"] = []byte("WRONG")
	s.check()
	clear(s.get().Steps)
	s.check()

	done := finish(driver.Completed, "right")
	s.do(wins(done))
	s.item.Data = []byte("right")
	copy(done.Data, "WRONG")
	s.check()

	created, arg := s.another(" created"), s.item
	arg.Data = []byte("right")
	created.do(creates(arg, now))
	created.item.Data = []byte("right")
	copy(arg.Data, "WRONG")
	created.check()
}

func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// noise returns n bytes that do not compress, the same in every run.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// testOversize finishes with a result that is too large for DynamoDB. The work
// is done, so the record is finished in any case: with the data, or with the
// reason why it is unavailable.
func testOversize(t *testing.T, h Harness) {
	for _, status := range []driver.Status{driver.Completed, driver.Failed} {
		c := finish(status, oversize())
		h.test(t, "finish/"+string(status), claimed, wins(c), meets(claim("bob"), now))
		h.test(t, "recreate/"+string(status),
			creates(after(claim("alice"), c), time.Time{}), meets(claim("bob"), now))
	}
	adopts := adopt("alice")
	adopts.Data = []byte(oversize())
	h.test(t, "adopt", plants(after(claim("bob"), keep)), wins(adopts), meets(claim("bob"), now))
	h.test(t, "under a wrong owner", claimed, loses(finish(driver.Completed, oversize()), as("mallory")))
}

func oversize() string { return string(noise(500 << 10)) }
