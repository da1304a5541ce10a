package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A step whose result does not fit is refused as too large, whether it alone
// or together with others, and in whatever way DynamoDB would say so: the core
// then keeps the step without its result.
func TestStepIsRefusedAsTooLarge(t *testing.T) {
	store := inOwnTable(t, nil)
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
	check.Must(t, add("first", 250<<10))
	for _, size := range []int{250 << 10, 500 << 10} {
		err := add("another", size)
		check.Is(t, err, driver.ErrTooLarge)
		check.False(t, errors.Is(err, driver.ErrUnavailable))
	}
	stored, err := store.Get(t.Context(), "large")
	check.Nil(t, err)
	check.Equal(t, len(stored.Steps), 1)
	check.Nil(t, add("another", 100), "a small one")
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
	x := executor(t, inOwnTable(t, nil), &idempotent.Config{Payloads: &drawer{}})
	again := errors.New("again")
	for attempt := range 2 {
		ran := 0
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (int, error) {
			for i, name := range []string{"first", "second"} {
				noise := make([]byte, 190<<10)
				rand.NewChaCha8([32]byte{byte(i)}).Read(noise)
				got, err := idempotent.Step(ctx, name, func(context.Context) ([]byte, error) { ran++; return noise, nil })
				check.Nil(t, err, attempt, name)
				check.Equal(t, string(got), string(noise), attempt, name)
			}
			return 0, again
		})
		check.Equal(t, err, again)
		check.Equal(t, ran, 2-2*attempt)
	}
}

// A saga whose step fills an item is undone exactly once: the notes of undoing
// have room, or the step is undone at once.
func TestSagaNearTheLimitOfAnItemIsUndoneOnce(t *testing.T) {
	t.Parallel()
	soldOut := idempotent.Permanent(errors.New("sold out"))
	store := uncompressed(t, inOwnTable(t, nil))
	for _, size := range sizes() {
		key := idempotent.Key{ID: fmt.Sprint(size)}
		undone, refuse := 0, size <= 406_500
		want := strings.Repeat("receipt 1; ", size/11+1)[:size]
		for range 4 {
			x := executor(t, store, nil)
			_, err := idempotent.Do(t.Context(), x, key, func(ctx context.Context) (int, error) {
				_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (string, error) { return want, nil },
					func(_ context.Context, result string) error {
						check.Equal(t, result, want, size)
						if refuse {
							refuse = false
							return errors.New("not now")
						}
						undone++
						return nil
					})
				return 0, errors.Join(err, soldOut)
			})
			check.Failed(t, err, "bytes: it succeeds", size)
		}
		x := executor(t, store, nil)
		_, err := idempotent.Do(t.Context(), x, key, func(context.Context) (int, error) { return 0, nil })
		check.Equal(t, undone, 1, size)
		check.Is(t, err, idempotent.ErrReplayed, size)
	}
}

// sizes are those around which something begins to have no room.
func sizes() []int {
	all := []int{300_000, 405_000, 406_500, 407_500, 408_500, 500_000}
	step := 10
	if testing.Short() {
		step = 100
	}
	for size := 409_000; size < 409_500; size += step {
		all = append(all, size)
	}
	return all
}

// A claim that is too large must not run: its caller could never be found again.
func TestRequestThatDoesNotFitIsRefused(t *testing.T) {
	s := uncompressed(t, inOwnTable(t, nil))
	for name, size := range map[string]int{"a little": attribute.MaxItemSize, "far": 5 << 20} {
		r := claim("op#" + name)
		r.Request = []byte(strings.Repeat("x", size))
		_, ok, err := s.Create(t.Context(), r, now, nil)
		check.False(t, ok, name)
		check.Is(t, err, driver.ErrTooLarge, name)
		check.Says(t, err, "with its request; DynamoDB allows items of at most 400 KB", name)
		check.Equal(t, get(t, s, r.ID).Status, driver.Absent, name)
	}
	// The largest that fits.
	r := claim("op#fits")
	r.Request = []byte{}
	r.Request = []byte(strings.Repeat("x", attribute.MaxItemSize-attribute.ItemSize(s.format.Item(r))-8)) // of numbers
	create(t, s, r)
	check.Equal(t, len(get(t, s, r.ID).Request), len(r.Request))
}
