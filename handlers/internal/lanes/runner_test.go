package lanes_test

import (
	"context"
	"errors"
	"fmt"
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
	runnerErrs = lanes.Errors{OutOfTime: errLate, AfterFailure: errHalted, Unfinished: errNoEnd}
)

// event is a random event, and what was seen while it ran.
type event struct {
	size       int
	runner     lanes.Runner
	schedule   lanes.Schedule
	lane       []int // of each record
	key        []int
	claim, run []time.Duration
	finish     []time.Duration
	replay     []bool
	failing    []bool
	exits      []bool // its goroutine, before its turn or in it

	mu                         sync.Mutex
	started                    []int
	launched, ended            []bool
	running, unrecorded, begun int
	wrong                      []string
}

func randomEvent(random *rand.Rand) *event {
	size := 1 + random.IntN(24)
	e := &event{size: size, launched: make([]bool, size), ended: make([]bool, size)}
	e.runner = lanes.Runner{Concurrency: 1 + random.IntN(4), Ahead: random.IntN(12), Unrecorded: random.IntN(8), Errors: runnerErrs}
	width := 1 + random.IntN(size)
	keys := make([]int, size)
	for i := range size {
		e.lane = append(e.lane, random.IntN(width))
		keys[i] = random.IntN(2*size) + 1
		e.claim = append(e.claim, time.Duration(random.IntN(20))*time.Millisecond)
		e.run = append(e.run, time.Duration(random.IntN(20))*time.Millisecond)
		e.finish = append(e.finish, time.Duration(random.IntN(20))*time.Millisecond)
		e.replay = append(e.replay, random.IntN(4) == 0)
		e.failing = append(e.failing, random.IntN(12) == 0)
		e.exits = append(e.exits, random.IntN(16) == 0)
	}
	e.key = keys
	e.schedule = lanes.Schedule{Lanes: lanes.By(size, func(i int) int { return e.lane[i] }), Halt: lanes.Halt(random.IntN(3)), Duplicates: lanes.Duplicates(keys)}
	return e
}

func (e *event) check(ok bool, format string, args ...any) {
	if !ok {
		e.wrong = append(e.wrong, fmt.Sprintf(format, args...))
	}
}

// one is a record: it claims, takes its turn, runs and finishes.
func (e *event) one(ctx context.Context, turn *lanes.Turn) error {
	i := turn.Index()
	e.see(func() {
		e.launched[i] = true
		if turn.Ahead() {
			e.begun++
			e.check(e.begun <= e.runner.Ahead+e.runner.Concurrency, "%d records have begun and wait, of %d and %d", e.begun, e.runner.Ahead, e.runner.Concurrency)
			for j := range i {
				e.check(e.key[j] != e.key[i] || e.ended[j], "%d began before its duplicate %d had ended", i, j)
			}
		}
	})
	time.Sleep(e.claim[i])
	turn.Arrive()
	if e.exits[i] {
		e.see(func() {
			e.ended[i] = true
			if turn.Ahead() {
				e.begun--
			}
		})
		runtime.Goexit()
	}
	err := turn.Take(ctx)
	if err != nil {
		time.Sleep(e.finish[i]) // the claim is given back
	}
	e.see(func() {
		if turn.Ahead() {
			e.begun--
		}
		if err != nil {
			e.ended[i] = true
		} else {
			e.start(i)
		}
	})
	if err != nil {
		return err
	}
	if !e.replay[i] {
		time.Sleep(e.run[i])
	}
	e.see(func() { e.running-- })
	turn.Returned()
	if !e.replay[i] {
		time.Sleep(e.finish[i])
	}
	e.see(func() { e.unrecorded--; e.ended[i] = true })
	if e.failing[i] {
		return errOwn
	}
	return nil
}

func (e *event) see(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

func (e *event) start(i int) {
	e.running++
	e.unrecorded++
	limit := e.runner.Unrecorded
	if limit == 0 {
		limit = e.runner.Concurrency
	}
	e.check(e.running <= e.runner.Concurrency, "%d functions run at once, of %d", e.running, e.runner.Concurrency)
	e.check(e.unrecorded <= limit, "%d functions are not recorded, of %d", e.unrecorded, limit)
	for j := range i {
		e.check(e.lane[j] != e.lane[i] || e.ended[j], "%d started before %d of its lane had ended", i, j)
		e.check(e.key[j] != e.key[i] || e.ended[j] || !e.launched[j], "%d started before its duplicate %d had ended", i, j)
	}
	e.started = append(e.started, i)
}

// results says what each record must return, if all of its event are known.
func (e *event) results(got []error) {
	for i, err := range got {
		ran := slices.Contains(e.started, i)
		switch {
		case e.exits[i] && err == errNoEnd:
		case ran && e.failing[i]:
			e.check(err == errOwn, "%d failed, and returned %v", i, err)
		case ran:
			e.check(err == nil, "%d ran, and returned %v", i, err)
		default:
			e.check(err == errHalted && e.schedule.Halt != lanes.HaltNothing, "%d did not run, and returned %v", i, err)
		}
		for j := range i {
			if e.failing[j] && slices.Contains(e.started, j) && e.lane[j] == e.lane[i] && e.schedule.Halt == lanes.HaltLane && !e.exits[i] {
				e.check(err == errHalted, "%d follows a failure in its lane, and returned %v", i, err)
			}
		}
	}
}

// The second record ends its goroutine while it waits for the first.
func TestRecordThatEndsBeforeItsTurnKeepsTheOrderOfItsLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var last time.Duration
		runner := lanes.Runner{Concurrency: 2, Ahead: 3, Errors: runnerErrs}
		results := runner.Run(t.Context(), lanes.Schedule{Lanes: lanes.InOrder(3)}, 3, func(ctx context.Context, turn *lanes.Turn) error {
			if turn.Index() == 1 {
				runtime.Goexit()
			}
			if err := turn.Take(ctx); err != nil {
				return err
			}
			if turn.Index() == 2 {
				last = time.Since(began)
			}
			time.Sleep(time.Second)
			return nil
		})
		check.Slice(t, results, []error{nil, errNoEnd, nil})
		check.Equal(t, last, time.Second)
	})
}

func TestRecordsKeepTheirOrderAndLimits(t *testing.T) {
	for seed := range uint64(3000) {
		synctest.Test(t, func(t *testing.T) {
			e := randomEvent(rand.New(rand.NewPCG(seed, 7)))
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
