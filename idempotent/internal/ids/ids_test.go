package ids

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

// An earlier version of a function wrote the owner without the name. A name may
// contain any character.
func TestNamedOwnerIsThatOfItsExecution(t *testing.T) {
	const arn = "arn:aws:lambda:eu-central-1:123456789012:function:pay:1/durable-execution/a/b"
	own, other := ExecutionOwner("pay#1", []string{arn}, 1), ExecutionOwner("pay#1", []string{arn}, 2)
	named := NameExecution(own, arn)
	check.Equal(t, NamedExecution(named), arn)
	check.Equal(t, NamedExecution(own)+NamedExecution("")+NamedExecution("4XTGDOZHKT3BKYYKCKZK4ZVRAB"), "")
	for _, same := range [][2]string{{named, own}, {own, named}, {named, named}, {own, own}} {
		check.True(t, IsSameExecution(same[0], same[1]))
	}
	for _, met := range []string{"", other, NameExecution(other, arn), "operator-x"} {
		check.False(t, IsSameExecution(met, own))
		check.False(t, IsSameExecution(met, named))
	}
}
