package lanes_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/internal/check"
)

var (
	errLate    = errors.New("out of time")
	errHalted  = errors.New("after a failure")
	errNoEnd   = errors.New("unfinished")
	errOwn     = errors.New("the record's own")
	errYielded = errors.New("yielded")
	runnerErrs = lanes.Errors{OutOfTime: errLate, AfterFailure: errHalted, Unfinished: errNoEnd, Yielded: errYielded}
)

func TestRecordsKeepTheirOrderAndLimits(t *testing.T) {
	for seed := range uint64(3000) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			e := randomEvent(random, 1+random.IntN(24))
			takes := make([][recording + 1]time.Duration, e.size)
			for i := range takes {
				for s := range takes[i] {
					takes[i][s] = time.Duration(random.IntN(20)) * ms
				}
			}
			e.wait = func(i int, s stage) { time.Sleep(takes[i][s]) }
			e.results(e.runner.Run(t.Context(), e.schedule, e.size, e.one))
			if len(e.wrong) > 0 {
				t.Fatalf("seed %d: %d records, %+v, halt %d: %s", seed, e.size, e.runner, e.schedule.Halt, e.wrong[0])
			}
		})
	}
}

// Claims start together, and functions run one after another in the order of
// the event.
func TestTurnsBeginInTheOrderOfTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started []int
		begun := time.Now()
		runner := lanes.Runner{Concurrency: 1, Ahead: 10, Errors: runnerErrs}
		runner.Run(t.Context(), lanes.Schedule{}, 10, func(ctx context.Context, turn *lanes.Turn) error {
			time.Sleep(time.Duration(20-turn.Index()) * time.Millisecond) // the last claim is answered first
			if err := turn.Take(ctx); err != nil {
				return err
			}
			started = append(started, turn.Index())
			return nil
		})
		check.True(t, slices.IsSorted(started))
		check.Equal(t, len(started), 10)
		check.Equal(t, time.Since(begun), 20*time.Millisecond)
	})
}

func TestTimeIsCheckedAgainWhenTheTurnComes(t *testing.T) {
	for name, end := range map[string]func(context.Context, *lanes.Runner) context.Context{
		"no start is left": func(ctx context.Context, r *lanes.Runner) context.Context {
			r.LastStart = time.Now().Add(time.Second)
			return ctx
		},
		"the context ends": func(ctx context.Context, _ *lanes.Runner) context.Context {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			runner := lanes.Runner{Concurrency: 1, Ahead: 2, Errors: runnerErrs}
			ctx := end(t.Context(), &runner)
			begun := time.Now()
			var refusedAfter atomic.Int64 // two records are refused at once
			results := runner.Run(ctx, lanes.Schedule{}, 4, func(ctx context.Context, turn *lanes.Turn) error {
				if err := turn.Take(context.WithoutCancel(ctx)); err != nil {
					refusedAfter.Store(int64(time.Since(begun)))
					return nil // what a refused record returns does not count
				}
				time.Sleep(3 * time.Second)
				return nil
			})
			check.Slice(t, results, []error{nil, errLate, errLate, errLate}, name)
			check.Equal(t, refusedAfter.Load(), int64(time.Second), name)
		})
	}
}

func TestLaterRecordsEndTogetherAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		runner := lanes.Runner{Concurrency: 1, Ahead: 10, Errors: runnerErrs}
		results := runner.Run(t.Context(), lanes.Schedule{Lanes: lanes.InOrder(11), Halt: lanes.HaltLane}, 11, func(ctx context.Context, turn *lanes.Turn) error {
			if err := turn.Take(ctx); err != nil {
				time.Sleep(time.Second) // it gives its claim back
				return err
			}
			return errOwn
		})
		check.Equal(t, results[0], errOwn)
		check.Equal(t, results[10], errHalted)
		check.Equal(t, time.Since(begun), time.Second)
	})
}

func TestRecordThatEndsItsGoroutineIsUnfinished(t *testing.T) {
	for _, ahead := range []int{0, 3} {
		results := lanes.Runner{Concurrency: 1, Ahead: ahead, Errors: runnerErrs}.Run(t.Context(), lanes.Schedule{}, 3,
			func(ctx context.Context, turn *lanes.Turn) error {
				if turn.Index() == 1 {
					runtime.Goexit() // without its turn
				}
				return turn.Take(ctx)
			})
		check.Slice(t, results, []error{nil, errNoEnd, nil}, ahead)
	}
}

// A wait that ends by itself leaves the turn open.
func TestTurnCanBeTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leaseLost := errors.New("lease lost")
		results := lanes.Runner{Concurrency: 1, Ahead: 1, Errors: runnerErrs}.Run(t.Context(), lanes.Schedule{}, 2,
			func(ctx context.Context, turn *lanes.Turn) error {
				if turn.Index() == 0 {
					time.Sleep(time.Second)
					return nil
				}
				limited, cancel := context.WithTimeoutCause(ctx, time.Millisecond, leaseLost)
				defer cancel()
				check.Equal(t, turn.Take(limited), leaseLost)
				return turn.Take(ctx)
			})
		check.Slice(t, results, []error{nil, nil})
	})
}

// What is about to write is known to the store: ten claims can be one request,
// and so can ten completions of functions that run one after another.
func TestSiblingsAreCountedUntilTheyArrive(t *testing.T) {
	for _, test := range []struct{ unrecorded, claims, completions int }{{10, 1, 1}, {1, 1, 10}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			claims, completions := 0, 0
			arrive := func(turn *lanes.Turn, last *int) {
				mu.Lock()
				defer mu.Unlock()
				if coming, _ := turn.Arrive(); coming == 0 {
					*last++
				}
			}
			runner := lanes.Runner{Concurrency: 1, Unrecorded: test.unrecorded, Ahead: 9, Errors: runnerErrs}
			runner.Run(t.Context(), lanes.Schedule{}, 10, func(ctx context.Context, turn *lanes.Turn) error {
				arrive(turn, &claims)
				time.Sleep(10 * time.Millisecond)
				if err := turn.Take(ctx); err != nil {
					return err
				}
				turn.Returned()
				arrive(turn, &completions)
				time.Sleep(10 * time.Millisecond)
				return nil
			})
			check.Equal(t, claims, test.claims, test.unrecorded)
			check.Equal(t, completions, test.completions, test.unrecorded)
		})
	}
}
