package protocol

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// Different pairs of scope and ID never have the same pre-image.
func FuzzPreimage(f *testing.F) {
	f.Add("a", "bc", "ab", "c")
	f.Add("", "ab", "ab", "")
	f.Add("a", "b", "a", "b")
	f.Add("\x00\x00\x00\x00\x00\x00\x00\x01a", "", "", "\x00\x00\x00\x00\x00\x00\x00\x01a")
	f.Fuzz(func(t *testing.T, scope1, id1, scope2, id2 string) {
		one, two := appendPreimage(nil, scope1, id1), appendPreimage(nil, scope2, id2)
		check.Equal(t, bytes.Equal(one, two), scope1 == scope2 && id1 == id2)
		check.True(t, strings.HasPrefix(string(appendPreimage([]byte("x"), scope1, id1)), "x"+string(one)), "it does not append")
	})
}

// An execution outlives the deployment of a new version, which has to find its
// record.
func TestExecutionOwnerIsTheSameInEveryVersion(t *testing.T) {
	for want, of := range map[string][]string{
		"execution-ae2968fabcbf187c8853557a6e7bb1cd": {"pay#1", "arn:a"},
		"execution-a8a90d8c94c7a723662d167e797a4e65": {"pay#1", "arn:a", "charge"},
		"execution-3c5a5987c354aac12371a3a2c9f4ed04": {"pay#2", "arn:a"},
	} {
		check.Equal(t, ExecutionOwner(of[0], of[1:], 1), want, of)
	}
}
