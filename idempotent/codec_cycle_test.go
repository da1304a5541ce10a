package idempotent_test

import (
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent"
)

// ring decodes from text, into what has no end.
type ring struct{ Next *ring }

func (r *ring) UnmarshalText([]byte) error { r.Next = r; return nil }

// What is not JSON's is not walked: a walk through this one would end the process.
func TestNumbersAreNotLookedForInTextTypes(t *testing.T) {
	var result struct {
		Ring ring
		N    any
	}
	if err := (idempotent.JSON{}).Decode([]byte(`{"Ring":"x","N":9007199254740993}`), &result); err != nil {
		t.Fatal(err)
	}
	if result.N != json.Number("9007199254740993") || result.Ring.Next != &result.Ring {
		t.Errorf("%v", result.N)
	}
}
