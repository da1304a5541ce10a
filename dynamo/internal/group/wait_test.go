package group

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
)

func TestSiblingsWaitForEachOther(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		a, b := s.do(t.Context(), "a", 2), s.do(t.Context(), "b", 1)
		time.Sleep(time.Millisecond)
		s.sent()
		c := s.do(t.Context(), "c", 0)
		s.sent("a b c")
		s.end(0)
		check.Equal(t, a.after, time.Millisecond)
		check.Equal(t, b.answer, "shared")
		check.Equal(t, c.after, 0)
	})
}

func TestSiblingsWaitForTwoMilliseconds(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "a", 9)
		time.Sleep(1900 * time.Microsecond)
		s.do(t.Context(), "b", 8)
		time.Sleep(99 * time.Microsecond)
		s.sent()
		time.Sleep(time.Microsecond)
		s.sent("a b")
		s.end(0)
	})
}

// A call that waits for a slot waits for the server.
func TestWaitForSiblingsIsReported(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		var waits []time.Duration
		s.queue.Waited = func(_ context.Context, d time.Duration) { waits = append(waits, d) }
		late := make(chan struct{})
		s.doUntil(t.Context(), "a", 1, late)
		time.Sleep(400 * time.Millisecond)
		close(late)
		s.sent("alone a")
		s.do(t.Context(), "b", 0)
		time.Sleep(12 * time.Millisecond)
		s.end(0)
		s.end(1)
		check.Slice(t, waits, []time.Duration{400 * time.Millisecond})
	})
}

func TestSiblingsWaitUntilTheyMayNot(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		late := make(chan struct{})
		s.doUntil(t.Context(), "a", 9, late)
		s.doUntil(t.Context(), "b", 8, late)
		time.Sleep(time.Minute)
		s.sent()
		close(late)
		s.sent("a b")
		s.end(0)
	})
}

func TestSiblingWithLittleTimeTakesTheOthersAlong(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.doUntil(t.Context(), "a", 9, make(chan struct{}))
		time.Sleep(time.Minute)
		s.do(t.Context(), "b", 8)
		time.Sleep(2*time.Millisecond - 1)
		s.sent()
		time.Sleep(time.Nanosecond)
		s.sent("a b")
		s.end(0)
	})
}

// The timer of a sibling that has left is not that of the next one.
func TestSiblingAfterOneThatLeftWaits(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		ctx, cancel := context.WithCancel(t.Context())
		s.do(ctx, "a", 9)
		cancel()
		time.Sleep(time.Minute)
		b := s.do(t.Context(), "b", 9)
		time.Sleep(2 * time.Millisecond)
		s.sent("alone b")
		s.end(0)
		check.Equal(t, b.after, 2*time.Millisecond)
	})
}

// The next of those that wait takes over when the first leaves.
func TestSiblingThatLeavesDoesNotStopTheOthers(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		ctx, cancel := context.WithCancel(t.Context())
		a := s.do(ctx, "a", 9)
		time.Sleep(time.Millisecond)
		b := s.do(t.Context(), "b", 8)
		cancel()
		time.Sleep(2 * time.Millisecond)
		s.sent("alone b")
		s.end(0)
		check.Equal(t, a.err, context.Canceled)
		check.Equal(t, b.after, 2*time.Millisecond)
	})
}

func TestReadsAndWritesShareNoRequest(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		for i, name := range []work{"read a", "b", "read c", "d"} {
			s.do(t.Context(), name, 3-i)
		}
		s.sent("read a read c")
		s.end(0)
		s.sent("read a read c", "b d")
		s.end(1)
	})
}

func TestCallWithoutSiblingsDoesNotWaitForThoseOfOthers(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "a", 9)
		lone := s.do(t.Context(), "lone", 0)
		s.sent("a lone")
		s.end(0)
		check.Equal(t, lone.after, 0)
	})
}

// One of a batch's calls writes what never shares a request.
func TestSiblingThatIsSentElsewhereIsNotWaitedFor(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "a", 2)
		s.queue.Arrive(func() (int, <-chan struct{}) { return 1, nil })
		s.sent()
		s.queue.Arrive(func() (int, <-chan struct{}) { return 0, nil })
		s.sent("alone a")
		s.end(0)
	})
}

func TestFullRequestDoesNotWaitForSiblings(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		for _, w := range []work{"a", "b", "c", "d"} {
			s.do(t.Context(), w, 9)
		}
		s.sent("a b c")
		s.end(0)
		s.sent("a b c")
		large := make([]byte, 99)
		s.do(t.Context(), work(large), 5)
		s.sent("a b c", "d "+string(large))
		s.end(1)
	}, func(l *Limits) { l.MaxCalls, l.MaxSize = 3, 100 })
}

func TestHungRequestStallsTheOthersOnce(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "first", 0)
		s.do(t.Context(), "a", 0)
		s.do(t.Context(), "b", 0)
		s.end(0)
		s.sent("alone first", "a b") // this one hangs
		began := time.Now()
		c := s.do(t.Context(), "c", 0)
		time.Sleep(49 * time.Millisecond)
		s.sent("alone first", "a b")
		time.Sleep(time.Millisecond)
		s.sent("alone first", "a b", "alone c")
		s.end(2)
		if !c.done || c.after != 50*time.Millisecond {
			t.Errorf("%+v", c)
		}
		for i := range 3 {
			d := s.do(t.Context(), "d", 0)
			s.end(3 + i)
			if !d.done || d.after != 0 {
				t.Errorf("after the first time: %+v", d)
			}
		}
		time.Sleep(time.Hour)
		s.end(1)
		check.True(t, time.Since(began) >= time.Hour, time.Since(began), "the request did not hang")
	})
}

func TestHungCallThatIsAloneStallsTheOthersOnce(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "hung", 0)
		a := s.do(t.Context(), "a", 0)
		time.Sleep(50 * time.Millisecond)
		s.sent("alone hung", "alone a")
		s.end(1)
		b := s.do(t.Context(), "b", 0)
		s.end(2)
		check.Equal(t, a.after, 50*time.Millisecond)
		check.Equal(t, b.after, 0)
		s.end(0)
	})
}

// Many callers with few keys, of whom some leave at any time.
func TestCallsAreSentOnceAndAnswered(t *testing.T) {
	const callers, calls, slots = 40, 300, 3
	var sent, under, most atomic.Int64
	q := New(Limits{Slots: slots, MaxCalls: 5, MaxSize: 100, Linger: 10 * time.Microsecond, Patience: time.Hour, Hold: time.Hour},
		func(ctx context.Context, calls []*Call[work, string]) {
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			keys := map[string]bool{}
			for _, c := range calls {
				keys[c.Work.Key()] = true
				sent.Add(1)
			}
			check.Equal(t, len(keys), len(calls))
			check.True(t, len(calls) <= 5, len(calls))
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Microsecond):
			}
			for _, c := range calls {
				c.Answer(string(c.Work))
			}
		})
	var answered, left atomic.Int64
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(caller)))
			for i := range calls {
				ctx, cancel := context.WithCancel(t.Context())
				if r.IntN(4) == 0 {
					time.AfterFunc(time.Duration(r.IntN(60))*time.Microsecond, cancel) // a deadline would have it sent again
				}
				w := work(fmt.Sprintf("%d/%d/%d", r.IntN(8), caller, i))
				got, err := q.Do(ctx, w, func() (int, <-chan struct{}) { return r.IntN(2), nil }, func() string {
					most.Store(max(most.Load(), under.Add(1)))
					defer under.Add(-1)
					sent.Add(1)
					return string(w)
				})
				switch {
				case err == nil && got == string(w):
					answered.Add(1)
				case err != nil && err == ctx.Err():
					left.Add(1)
				default:
					t.Errorf("%q: %q, %v", w, got, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	check.Equal(t, answered.Load()+left.Load(), callers*calls)
	check.True(t, answered.Load() >= callers*calls/2, answered.Load())
	check.Differ(t, left.Load(), 0)
	check.True(t, sent.Load() >= answered.Load(), sent.Load())
	check.True(t, sent.Load() <= callers*calls, sent.Load())
	check.True(t, most.Load() <= slots, most.Load())
}
