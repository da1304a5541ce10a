package lanes_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/internal/check"
)

// completions are the times at which functions began, and at which a store sent their
// completions.
type completions struct{ started, sent []time.Duration }

// run runs functions that take these times, and whose claims take none. A function with a
// negative time fails and writes nothing. Their results take time to encode. The store
// sends completions together, as group commit does. All time is that of the bubble.
func run(t *testing.T, runner lanes.Runner, encode time.Duration, takes ...time.Duration) completions {
	t.Helper()
	began := time.Now()
	c := completions{make([]time.Duration, len(takes)), make([]time.Duration, len(takes))}
	var mu sync.Mutex
	flushed := make(chan struct{})
	runner.Errors = runnerErrs
	runner.Run(t.Context(), lanes.Schedule{}, len(takes), func(ctx context.Context, turn *lanes.Turn) error {
		i := turn.Index()
		if turn.Ahead() {
			turn.Arrive()
		}
		if err := turn.Take(ctx); err != nil {
			return err
		}
		if !turn.Ahead() {
			turn.Arrive()
		}
		c.started[i] = time.Since(began).Truncate(ms)
		time.Sleep(max(takes[i], -takes[i]))
		if takes[i] < 0 {
			return errors.New("it fails")
		}
		turn.Returned()
		time.Sleep(encode)
		mu.Lock()
		coming, end := turn.Arrive()
		wait := flushed
		if coming == 0 {
			close(flushed)
			flushed = make(chan struct{})
		}
		mu.Unlock()
		switch {
		case end != nil:
			select {
			case <-end:
			case <-wait:
			}
		case coming > 0:
			time.Sleep(2 * ms)
		}
		c.sent[i] = time.Since(began).Truncate(ms)
		time.Sleep(time.Nanosecond) // the answer comes after all that happens at this moment
		return nil
	})
	return c
}

const ms = time.Millisecond

func TestCompletionsWaitForRunningFunctions(t *testing.T) {
	for name, c := range map[string]struct {
		runner        lanes.Runner
		lastStart     time.Duration // or 0
		encode        time.Duration
		takes         []time.Duration
		started, sent []time.Duration // started: nil if that is no matter
	}{
		"claimed ahead": {runner: lanes.Runner{Concurrency: 3, Unrecorded: 3, Ahead: 3},
			takes: []time.Duration{1 * ms, 50 * ms, 20 * ms}, sent: []time.Duration{50 * ms, 50 * ms, 50 * ms}},
		"claimed in their turn": {runner: lanes.Runner{Concurrency: 3},
			takes: []time.Duration{1 * ms, 50 * ms, 20 * ms}, sent: []time.Duration{50 * ms, 50 * ms, 50 * ms}},
		"for half a second": {runner: lanes.Runner{Concurrency: 3, Unrecorded: 3, Ahead: 3},
			takes: []time.Duration{10 * ms, time.Minute, 20 * ms}, sent: []time.Duration{510 * ms, time.Minute, 510 * ms}},
		"not past the last start": {runner: lanes.Runner{Concurrency: 3, Unrecorded: 3, Ahead: 3}, lastStart: 30 * ms,
			takes: []time.Duration{10 * ms, time.Minute, 40 * ms}, sent: []time.Duration{30 * ms, time.Minute, 40 * ms}},
		// The second completion leaves no room for a third function, so neither waits.
		"not if they keep one from starting": {runner: lanes.Runner{Concurrency: 1, Unrecorded: 2, Ahead: 4},
			takes:   []time.Duration{10 * ms, 10 * ms, 10 * ms, 10 * ms},
			started: []time.Duration{0, 10 * ms, 20 * ms, 30 * ms}, sent: []time.Duration{20 * ms, 20 * ms, 40 * ms, 40 * ms}},
		// The first completion lingers while the second function runs, and leaves when that returns.
		"until one waits for them": {runner: lanes.Runner{Concurrency: 1, Unrecorded: 2, Ahead: 3}, encode: 5 * ms,
			takes:   []time.Duration{10 * ms, 10 * ms, 10 * ms},
			started: []time.Duration{0, 10 * ms, 20 * ms}, sent: []time.Duration{20 * ms, 35 * ms, 35 * ms}},
		"not for one that ends without a write": {runner: lanes.Runner{Concurrency: 2, Unrecorded: 2, Ahead: 2},
			takes: []time.Duration{10 * ms, -30 * ms}, sent: []time.Duration{30 * ms, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.lastStart > 0 {
					c.runner.LastStart = time.Now().Add(c.lastStart)
				}
				got := run(t, c.runner, c.encode, c.takes...)
				check.Slice(t, got.sent, c.sent)
				if c.started != nil {
					check.Slice(t, got.started, c.started)
				}
			})
		})
	}
}

// Where there is no room for a third function, none is to come either.
func TestCompletionWaitsAlthoughARefusedRecordHadNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var sent time.Duration
		runner := lanes.Runner{Concurrency: 2, Unrecorded: 2, Ahead: 1, Errors: runnerErrs}
		runner.Run(t.Context(), lanes.Schedule{Halt: lanes.HaltEvent}, 4, func(_ context.Context, turn *lanes.Turn) error {
			switch turn.Index() {
			case 0:
				time.Sleep(10 * ms)
				turn.Returned()
				_, end := turn.Arrive()
				check.False(t, end == nil, "the completion is sent at once")
				if end != nil {
					<-end
				}
				sent = time.Since(began)
			case 1:
				time.Sleep(50 * ms)
			case 2: // it fails before its turn
				time.Sleep(5 * ms)
				runtime.Goexit()
			}
			return nil
		})
		check.Equal(t, sent, 50*ms)
	})
}

func TestCompletionThatIsSentAgainDoesNotWaitAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := lanes.Runner{Concurrency: 2, Unrecorded: 2, Errors: runnerErrs}
		runner.Run(t.Context(), lanes.Schedule{}, 2, func(_ context.Context, turn *lanes.Turn) error {
			if turn.Index() == 1 {
				time.Sleep(50 * ms)
				return nil
			}
			turn.Returned()
			_, first := turn.Arrive()
			check.False(t, first == nil)
			_, again := turn.Arrive()
			check.True(t, again == nil)
			return nil
		})
	})
}

// No turn begins meanwhile: on a busy batch the wait would have no end.
func TestRecordAwaitsTheCompletionsOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		started := make([]time.Duration, 4)
		lanes.Runner{Concurrency: 2, Unrecorded: 4, Errors: runnerErrs}.Run(t.Context(), lanes.Schedule{}, 4, func(ctx context.Context, turn *lanes.Turn) error {
			i := turn.Index()
			if i == 1 {
				time.Sleep(1 * ms) // the first has returned
				check.Nil(t, turn.AwaitRecorded(ctx))
			}
			started[i] = time.Since(began)
			if i == 2 {
				time.Sleep(5 * ms)
			}
			turn.Returned()
			_, held := turn.Arrive()
			if i == 0 {
				<-held
			}
			time.Sleep(10 * ms)
			return nil
		})
		check.Slice(t, started, []time.Duration{0, 15 * ms, 0, 15 * ms})
	})
}

func TestWaitForCompletionsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lanes.Runner{Concurrency: 1, Unrecorded: 2, Errors: runnerErrs}.Run(t.Context(), lanes.Schedule{}, 2, func(ctx context.Context, turn *lanes.Turn) error {
			turn.Returned()
			if turn.Index() == 0 {
				time.Sleep(time.Minute)
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			check.Is(t, turn.AwaitRecorded(ctx), context.DeadlineExceeded)
			return nil
		})
	})
}
