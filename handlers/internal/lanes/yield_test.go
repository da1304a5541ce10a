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
		results := runner.Run(t.Context(), lanes.Schedule{Lanes: lanes.Separate(6)}, 6, func(ctx context.Context, turn *lanes.Turn) error {
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
					if since := time.Since(begun); since != time.Duration(i)*time.Second {
						t.Errorf("%d gave its claim back after %v", i, since)
					}
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
		if !slices.Equal(results, make([]error, 6)) || !slices.Equal(ran, []int{0, 1, 2, 3, 4, 5}) {
			t.Errorf("%v, ran %v", results, ran)
		}
		slices.Sort(ahead)
		if !slices.Equal(gaveBack, []int{1, 2}) || !slices.Equal(ahead, []int{1, 2, 3, 4, 5}) {
			t.Errorf("%v gave their claims back of %v", gaveBack, ahead)
		}
	})
}
