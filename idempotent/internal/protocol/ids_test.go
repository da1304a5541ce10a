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

// An execution outlives the deployment of a new version, which has to find its
// record.
func TestExecutionOwnerIsTheSameInEveryVersion(t *testing.T) {
	for want, of := range map[string][]string{
		"execution-f755e671a60a7224fd3f5f3094a38537": {"pay#1", "arn:a"},
		"execution-8fab70d21bd55b37a957799ee6d81fb8": {"pay#1", "arn:a", "charge"},
		"execution-70e1aca7ad0204f68598e427e1f2bc61": {"pay#2", "arn:a"},
	} {
		if got := ExecutionOwner(of[0], of[1:]); got != want {
			t.Errorf("%q: got %s", of, got)
		}
	}
}
