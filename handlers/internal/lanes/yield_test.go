package lanes_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/internal/check"
)

// Such a record waits for a claim, and has none that another event could wait for.
func TestYieldBeforeTheTurnDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := lanes.Runner{Concurrency: 1, Ahead: 2, Errors: runnerErrs}.Run(t.Context(), lanes.Schedule{}, 3, func(ctx context.Context, turn *lanes.Turn) error {
			switch turn.Index() {
			case 0:
				time.Sleep(2 * time.Second)
			case 1:
				time.Sleep(time.Second)
				turn.Yield()
			case 2:
				check.Nil(t, turn.TakeClaimed(ctx), "the record that claimed")
			}
			return turn.Take(ctx)
		})
		check.Slice(t, results, make([]error, 3))
	})
}

// While a record yields no claim is kept before its turn, be it old or on its
// way. Those that gave theirs back still have their turn, and later records
// claim ahead again.
func TestNoClaimIsKeptWhileARecordYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := lanes.Runner{Concurrency: 1, Ahead: 2, Errors: runnerErrs}
		begun := time.Now()
		var mu sync.Mutex
		var gaveBack, ahead, ran []int
		add := func(to *[]int, i int) {
			mu.Lock()
			defer mu.Unlock()
			*to = append(*to, i)
		}
		results := runner.Run(t.Context(), lanes.Schedule{}, 6, func(ctx context.Context, turn *lanes.Turn) error {
			i := turn.Index()
			switch {
			case i == 0:
				time.Sleep(time.Second)
				turn.Yield()
				turn.Yield() // once is enough
				time.Sleep(2 * time.Second)
			case turn.Ahead():
				add(&ahead, i)
				if i == 2 {
					time.Sleep(2 * time.Second) // its claim is on the way
				}
				if err := turn.TakeClaimed(ctx); err == errYielded {
					add(&gaveBack, i)
					check.Equal(t, time.Since(begun), time.Duration(i)*time.Second)
				} else if err != nil {
					return err
				}
			}
			if err := turn.Take(ctx); err != nil {
				return err
			}
			add(&ran, i)
			time.Sleep(time.Second)
			return nil
		})
		check.Slice(t, results, make([]error, 6))
		check.Slice(t, ran, []int{0, 1, 2, 3, 4, 5})
		slices.Sort(ahead)
		check.Slice(t, gaveBack, []int{1, 2})
		check.Slice(t, ahead, []int{1, 2, 3, 4, 5})
	})
}
