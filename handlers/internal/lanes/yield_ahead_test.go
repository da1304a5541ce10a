package lanes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/internal/check"
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
		results := yielding(2, 1).Run(t.Context(), lanes.Schedule{}, 4, func(ctx context.Context, turn *lanes.Turn) error {
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
		check.Slice(t, results, make([]error, 4))
		_, ok := began[3]
		check.False(t, ok)
		_, ok = began[2]
		check.True(t, ok, "no record began ahead before that")
	})
}

// Such a record waits for a claim, and has none that another event could wait for.
func TestYieldBeforeTheTurnDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := yielding(1, 2).Run(t.Context(), lanes.Schedule{}, 3, func(ctx context.Context, turn *lanes.Turn) error {
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
