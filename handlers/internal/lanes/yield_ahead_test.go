package lanes_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
)

var errYielded = errors.New("yielded")

func yielding(concurrency, ahead int) lanes.Runner {
	r := lanes.Runner{Concurrency: concurrency, Ahead: ahead, Errors: runnerErrs}
	r.Errors.Yielded = errYielded
	return r
}

// The claim of a record that begins ahead could be the one that the other event
// waits for.
func TestNoRecordBeginsAheadWhileAnotherYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		began := map[int]time.Duration{}
		// Record 1 is replayed while 0 waits, which makes room for another claim.
		results := yielding(2, 1).Run(t.Context(), lanes.Schedule{Lanes: lanes.Separate(4)}, 4, func(ctx context.Context, turn *lanes.Turn) error {
			if turn.Ahead() {
				began[turn.Index()] = time.Since(begun)
			}
			switch turn.Index() {
			case 0:
				turn.Yield()
				time.Sleep(10 * time.Second)
			case 1:
				time.Sleep(time.Second)
			case 2:
				if err := turn.TakeClaimed(ctx); err != nil && err != errYielded {
					return err
				}
			}
			if err := turn.Take(ctx); err != nil {
				return err
			}
			return nil
		})
		if !slices.Equal(results, make([]error, 4)) {
			t.Error(results)
		}
		if at, ok := began[3]; ok {
			t.Errorf("a record began ahead after %v, while another yielded", at)
		}
		if _, ok := began[2]; !ok {
			t.Error("no record began ahead before that")
		}
	})
}

// Such a record waits for a claim, and has none that another event could wait for.
func TestYieldBeforeTheTurnDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := yielding(1, 2).Run(t.Context(), lanes.Schedule{Lanes: lanes.Separate(3)}, 3, func(ctx context.Context, turn *lanes.Turn) error {
			switch turn.Index() {
			case 0:
				time.Sleep(2 * time.Second)
			case 1:
				time.Sleep(time.Second)
				turn.Yield()
			case 2:
				if err := turn.TakeClaimed(ctx); err != nil {
					t.Errorf("the record that claimed: %v", err)
				}
			}
			return turn.Take(ctx)
		})
		if !slices.Equal(results, make([]error, 3)) {
			t.Error(results)
		}
	})
}
