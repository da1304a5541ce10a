package dynamo

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/lambda-once/once/idempotent"
)

// A step whose result does not fit is refused as too large, whether it alone
// or together with others, and in whatever way DynamoDB would say so: the core
// then keeps the step without its result.
func TestStepIsRefusedAsTooLarge(t *testing.T) {
	store := localStore(t)
	if _, ok, err := store.Create(t.Context(), claim("large"), now, nil); err != nil || !ok {
		t.Fatal(ok, err)
	}
	fence := idempotent.Fence{ID: "large", Owner: owner}
	add := func(name string, size int) error {
		noise := make([]byte, size)
		rand.NewChaCha8([32]byte{}).Read(noise)
		_, ok, err := store.Change(t.Context(), fence, idempotent.Change{Steps: map[string][]byte{name: noise}})
		if err == nil && !ok {
			t.Fatal("the fence does not hold")
		}
		return err
	}
	if err := add("first", 250<<10); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{250 << 10, 500 << 10, 20 << 20} {
		if err := add("another", size); !errors.Is(err, idempotent.ErrTooLarge) || errors.Is(err, idempotent.ErrUnavailable) {
			t.Errorf("%d KB: %v", size>>10, err)
		}
	}
	stored, err := store.Get(t.Context(), "large")
	if err != nil || len(stored.Steps) != 1 {
		t.Errorf("%d steps are stored, %v", len(stored.Steps), err)
	}
	if err := add("another", 100); err != nil {
		t.Errorf("a small one: %v", err)
	}
}
