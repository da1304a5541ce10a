package protocol

import (
	"bytes"
	"strings"
	"testing"
)

// Different pairs of scope and ID never have the same pre-image.
func FuzzPreimage(f *testing.F) {
	f.Add("a", "bc", "ab", "c")
	f.Add("", "ab", "ab", "")
	f.Add("a", "b", "a", "b")
	f.Add("\x00\x00\x00\x00\x00\x00\x00\x01a", "", "", "\x00\x00\x00\x00\x00\x00\x00\x01a")
	f.Fuzz(func(t *testing.T, scope1, id1, scope2, id2 string) {
		one, two := appendPreimage(nil, scope1, id1), appendPreimage(nil, scope2, id2)
		if bytes.Equal(one, two) != (scope1 == scope2 && id1 == id2) {
			t.Errorf("(%q, %q) gives %x, (%q, %q) gives %x", scope1, id1, one, scope2, id2, two)
		}
		if !strings.HasPrefix(string(appendPreimage([]byte("x"), scope1, id1)), "x"+string(one)) {
			t.Error("it does not append")
		}
	})
}
