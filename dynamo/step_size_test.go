package dynamo

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// A step whose result does not fit is refused as too large, whether it alone
// or together with others, and in whatever way DynamoDB would say so: the core
// then keeps the step without its result.
func TestStepIsRefusedAsTooLarge(t *testing.T) {
	store := localStore(t)
	if _, ok, err := store.Create(t.Context(), claim("large"), now, nil); err != nil || !ok {
		t.Fatal(ok, err)
	}
	fence := driver.Fence{ID: "large", Owner: owner}
	add := func(name string, size int) error {
		noise := make([]byte, size)
		rand.NewChaCha8([32]byte{}).Read(noise)
		_, ok, err := store.Change(t.Context(), fence, driver.Change{Steps: map[string][]byte{name: noise}})
		if err == nil && !ok {
			t.Fatal("the fence does not hold")
		}
		return err
	}
	if err := add("first", 250<<10); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{250 << 10, 500 << 10, 20 << 20} {
		if err := add("another", size); !errors.Is(err, driver.ErrTooLarge) || errors.Is(err, driver.ErrUnavailable) {
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

// drawer is a PayloadStore for one thing.
type drawer struct{ data []byte }

func (d *drawer) Put(_ context.Context, data []byte) (string, error) {
	d.data = bytes.Clone(data)
	return "it", nil
}
func (d *drawer) Get(context.Context, string) ([]byte, error) { return bytes.Clone(d.data), nil }

// Of two steps that fit into an item each, but not together, the second is
// kept elsewhere, where there is an elsewhere.
func TestStepThatDoesNotFitBesideAnotherIsRefused(t *testing.T) {
	x, err := idempotent.New("op", localStore(t), &idempotent.Config{Payloads: &drawer{}, PayloadAbove: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	again := errors.New("again")
	for attempt := range 2 {
		ran := 0
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (int, error) {
			for i, name := range []string{"first", "second"} {
				noise := make([]byte, 220<<10)
				rand.NewChaCha8([32]byte{byte(i)}).Read(noise)
				got, err := idempotent.Step(ctx, name, func(context.Context) ([]byte, error) { ran++; return noise, nil })
				if err != nil || !bytes.Equal(got, noise) {
					t.Errorf("attempt %d: %s: %d bytes, %v", attempt, name, len(got), err)
				}
			}
			return 0, again
		})
		if err != again || ran != 2-2*attempt {
			t.Errorf("attempt %d: %v; %d steps ran", attempt, err, ran)
		}
	}
}
