package dynamo

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
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
			check.Must(t, err)
			_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (int, error) {
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
		x, err := idempotent.New("op", store, nil)
		check.Must(t, err)
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(context.Context) (int, error) { return 0, nil })
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
