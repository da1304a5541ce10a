package lanes_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/internal/check"
)

// While a record yields no claim is kept before its turn, be it old or on its
// way. Those that gave theirs back still have their turn, and later records
// claim ahead again.
func TestNoClaimIsKeptWhileARecordYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		yielded := errors.New("yielded")
		errs := runnerErrs
		errs.Yielded = yielded
		runner := lanes.Runner{Concurrency: 1, Ahead: 2, Errors: errs}
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
				if err := turn.TakeClaimed(ctx); err == yielded {
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
