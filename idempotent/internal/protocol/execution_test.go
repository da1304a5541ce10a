package protocol

import "testing"

// An earlier version of a function wrote the owner without the name. A name may
// contain any character.
func TestNamedOwnerIsThatOfItsExecution(t *testing.T) {
	const arn = "arn:aws:lambda:eu-central-1:123456789012:function:pay:1/durable-execution/a/b"
	own, other := ExecutionOwner("pay#1", []string{arn}, 1), ExecutionOwner("pay#1", []string{arn}, 2)
	named := NameExecution(own, arn)
	if got := NamedExecution(named); got != arn {
		t.Errorf("got %q", got)
	}
	if got := NamedExecution(own) + NamedExecution("") + NamedExecution("4XTGDOZHKT3BKYYKCKZK4ZVRAB"); got != "" {
		t.Errorf("got %q", got)
	}
	for _, same := range [][2]string{{named, own}, {own, named}, {named, named}, {own, own}} {
		if !IsSameExecution(same[0], same[1]) {
			t.Errorf("%q differ", same)
		}
	}
	for _, met := range []string{"", other, NameExecution(other, arn), "operator-x"} {
		if IsSameExecution(met, own) || IsSameExecution(met, named) {
			t.Errorf("%q is the same", met)
		}
	}
}
