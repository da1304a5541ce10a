package group

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/internal/check"
)

// holdASecond is the limit of a server whose requests hold a caller for a second.
func holdASecond(l *Limits) { l.Hold = time.Second }

// hang has a shared request of some calls hang, and returns their results.
func (s *server) hang(ctx context.Context, calls ...work) []*result {
	s.t.Helper()
	s.do(s.t.Context(), "first", 0)
	results := make([]*result, len(calls))
	for i, w := range calls {
		results[i] = s.do(ctx, w, 0)
	}
	s.end(0)
	return results
}

func TestHungRequestHoldsItsCallersForASecond(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		calls := s.hang(t.Context(), "a", "b")
		late := make(chan struct{})
		s.endWith(1, func(all []*Call[work, string]) {
			all[1].Answer("in time")
			<-late
			all[0].Answer("late")
		})
		time.Sleep(999 * time.Millisecond)
		s.sent("alone first", "a b")
		time.Sleep(time.Millisecond)
		s.sent("alone first", "a b", "alone a")
		close(late)
		time.Sleep(time.Hour)
		s.end(2)
		time.Sleep(time.Hour)
		s.sent("alone first", "a b", "alone a") // only once
		a := calls[0]
		check.Equal(t, a.answer, "alone", "the late answer counts")
		check.Nil(t, a.err)
		check.Equal(t, a.after, time.Hour+time.Second)
		b := calls[1]
		check.Equal(t, b.answer, "in time")
		check.Equal(t, b.after, 0)
	}, holdASecond)
}

func TestHungRequestEndsWithItsLastCaller(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		const callers = 25
		var calls []work
		for i := range callers {
			calls = append(calls, work('a'+rune(i)))
		}
		results := s.hang(t.Context(), calls...)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(s.requests) != 2+callers || s.requests[1].ctx.Err() == nil {
			t.Fatalf("%d requests; the shared one goes on: %v", len(s.requests), s.requests[1].ctx.Err() == nil)
		}
		for i := range callers {
			s.end(2 + i)
		}
		s.end(1)
		for i, r := range results {
			check.Equal(t, *r, (result{true, "alone", nil, time.Second}), i)
		}
	}, holdASecond)
}

func TestHungRequestHoldsACallerForHalfOfItsTime(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		short, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
		defer cancel()
		s.do(t.Context(), "first", 0)
		a, b := s.do(short, "a", 0), s.do(t.Context(), "b", 0)
		s.end(0)
		time.Sleep(299 * time.Millisecond)
		s.sent("alone first", "a b")
		time.Sleep(time.Millisecond)
		s.sent("alone first", "a b", "alone a")
		s.end(2)
		check.Equal(t, *a, (result{true, "alone", nil, 300 * time.Millisecond}))
		s.end(1) // it went on for the other
		check.Equal(t, *b, (result{true, "shared", nil, 300 * time.Millisecond}))
	}, holdASecond)
}

// The time in the queue is not that of the request.
func TestCallThatWaitsForASlotIsNotHeld(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "first", 0)
		a, b := s.do(t.Context(), "a", 0), s.do(t.Context(), "b", 0)
		time.Sleep(time.Minute)
		s.sent("alone first")
		s.end(0)
		time.Sleep(999 * time.Millisecond)
		s.sent("alone first", "a b")
		s.end(1)
		check.Equal(t, a.answer, "shared")
		check.Equal(t, b.answer, "shared")
	}, func(l *Limits) { l.Hold, l.Patience = time.Second, time.Hour })
}

// A call that nobody shares a request with has its caller's time, as without the
// queue.
func TestCallThatIsAloneIsNotSentAgain(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		a := s.do(t.Context(), "a", 0)
		time.Sleep(time.Hour)
		s.sent("alone a")
		s.end(0)
		check.Equal(t, a.answer, "alone")
	}, holdASecond)
}

// Nothing is answered: every caller leaves in its own time, is sent at most once
// at a time, once more alone, and leaves nothing behind.
func TestDeadNetworkKeepsNoCallerAndNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, limit = 1000, 2 * time.Second
		s := newServer(t, func(l *Limits) { l.Slots = 2 })
		var under, most, calls atomic.Int64
		s.queue.send = func(ctx context.Context, c []*Call[work, string]) {
			calls.Add(int64(len(c)))
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			<-ctx.Done()
		}
		for i := range callers {
			s.wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit+time.Duration(i)*time.Millisecond)
				defer cancel()
				sent := 0
				_, err := s.queue.Do(ctx, work(fmt.Sprintf("%d", i)), func() (int, <-chan struct{}) { return i % 3, nil }, func() string {
					sent++
					under.Add(1)
					defer under.Add(-1)
					<-ctx.Done()
					return ""
				})
				if err != nil && err != context.DeadlineExceeded {
					t.Error(err)
				}
				check.True(t, sent <= 1, sent, i)
				left, _ := ctx.Deadline()
				check.False(t, time.Now().After(left), i)
			})
		}
		s.idle()
		synctest.Wait()
		check.Equal(t, under.Load(), 0)
		check.True(t, calls.Load() <= callers, calls.Load())
		check.True(t, most.Load() <= callers/10, most.Load())
	})
}
