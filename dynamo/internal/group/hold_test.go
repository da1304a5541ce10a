package group

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// held is a server whose requests hold a caller for a second.
func held(t *testing.T) *server {
	return newServer(t, func(l *Limits) { l.Hold = time.Second })
}

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
	synctest.Test(t, func(t *testing.T) {
		s := held(t)
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
		s.idle()
		if a := calls[0]; a.answer != "alone" || a.err != nil || a.after != time.Hour+time.Second {
			t.Errorf("the late answer counts: %+v", a)
		}
		if b := calls[1]; b.answer != "in time" || b.after != 0 {
			t.Errorf("%+v", b)
		}
	})
}

func TestHungRequestEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t)
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
		s.idle()
		for i, r := range results {
			if want := (result{true, "alone", nil, time.Second}); *r != want {
				t.Errorf("%d: %+v, want %+v", i, *r, want)
			}
		}
	})
}

func TestHungRequestHoldsACallerForHalfOfItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t)
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
		if want := (result{true, "alone", nil, 300 * time.Millisecond}); *a != want {
			t.Errorf("%+v, want %+v", *a, want)
		}
		s.end(1) // it went on for the other
		s.idle()
		if want := (result{true, "shared", nil, 300 * time.Millisecond}); *b != want {
			t.Errorf("%+v, want %+v", *b, want)
		}
	})
}

// The time in the queue is not that of the request.
func TestCallThatWaitsForASlotIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(l *Limits) { l.Hold, l.Patience = time.Second, time.Hour })
		s.do(t.Context(), "first", 0)
		a, b := s.do(t.Context(), "a", 0), s.do(t.Context(), "b", 0)
		time.Sleep(time.Minute)
		s.sent("alone first")
		s.end(0)
		time.Sleep(999 * time.Millisecond)
		s.sent("alone first", "a b")
		s.end(1)
		s.idle()
		if a.answer != "shared" || b.answer != "shared" {
			t.Errorf("%+v, %+v", a, b)
		}
	})
}

// A call that nobody shares a request with has its caller's time, as without the
// queue.
func TestCallThatIsAloneIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t)
		a := s.do(t.Context(), "a", 0)
		time.Sleep(time.Hour)
		s.sent("alone a")
		s.end(0)
		s.idle()
		if a.answer != "alone" {
			t.Errorf("%+v", a)
		}
	})
}
