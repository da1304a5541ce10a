package protocol

import (
	"testing"

	"github.com/lambda-once/once/internal/check"
)

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
