package dynamo

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
)

// A saga whose step fills an item is undone exactly once: the notes of undoing
// have room, or the step is undone at once.
func TestSagaNearTheLimitOfAnItemIsUndoneOnce(t *testing.T) {
	soldOut := idempotent.Permanent(errors.New("sold out"))
	for _, size := range sizes() {
		client, table := newTable(t)
		store := newStore(t, client, table, &Options{CompressAbove: -1})
		undone, refuse := 0, size <= 406_500
		want := strings.Repeat("receipt 1; ", size/11+1)[:size]
		for range 4 {
			x, err := idempotent.New("op", store, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (int, error) {
				_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (string, error) { return want, nil },
					func(_ context.Context, result string) error {
						if result != want {
							t.Errorf("%d bytes: undone with %d bytes %.20q…, want %.20q…", size, len(result), result, want)
						}
						if refuse {
							refuse = false
							return errors.New("not now")
						}
						undone++
						return nil
					})
				return 0, errors.Join(err, soldOut)
			})
			if err == nil {
				t.Errorf("%d bytes: it succeeds", size)
			}
		}
		x, err := idempotent.New("op", store, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(context.Context) (int, error) { return 0, nil })
		if undone != 1 || !errors.Is(err, idempotent.ErrReplayed) {
			t.Errorf("%d bytes: undone %d times: %v", size, undone, err)
		}
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
