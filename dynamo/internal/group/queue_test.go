package group

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/internal/check"
)

func TestCallThatFindsAFreeSlotIsSentAtOnceAndAlone(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		a, b := s.do(t.Context(), "a", 0), s.do(t.Context(), "b", 0)
		s.sent("alone a", "alone b")
		s.end(0)
		s.end(1)
		check.Equal(t, a.answer, "alone")
		check.Equal(t, b.answer, "alone")
		check.Equal(t, a.after, 0)
	}, func(l *Limits) { l.Slots = 2 })
}

func TestCallsThatWaitShareTheNextRequest(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "a", 0)
		b, c := s.do(t.Context(), "b", 0), s.do(t.Context(), "c", 0)
		s.sent("alone a")
		s.end(0)
		s.sent("alone a", "b c")
		d := s.do(t.Context(), "d", 0)
		s.endWith(1, func(calls []*Call[work, string]) {
			calls[1].Answer("of c")
			calls[0].Answer("of b")
		})
		s.sent("alone a", "b c", "alone d")
		s.end(2)
		check.Equal(t, b.answer, "of b")
		check.Equal(t, c.answer, "of c")
		check.Equal(t, d.answer, "alone")
	})
}

// DynamoDB also refuses a request with two writes of one item.
func TestRequestsHaveLimits(t *testing.T) {
	for calls, want := range map[string][]string{
		"a b c d eeeee fffff gg hhhhhhhhhhhhhhh": {"alone first", "a b c", "d eeeee", "fffff gg", "alone hhhhhhhhhhhhhhh"},
		"a/1 b/1 a/2 c a/3 b/2":                  {"alone first", "a/1 b/1 c", "a/2 b/2", "alone a/3"},
	} {
		serving(t, func(t *testing.T, s *server) {
			for _, w := range strings.Fields("first " + calls) {
				s.do(t.Context(), work(w), 0)
			}
			for i := range want {
				s.sent(want[:i+1]...)
				s.end(i)
			}
		}, func(l *Limits) { l.MaxCalls, l.MaxSize = 3, 10 })
	}
}

func TestCallerThatLeavesTheQueueIsNeverSent(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "first", 0)
		ctx, cancel := context.WithCancel(t.Context())
		a, b := s.do(ctx, "a", 0), s.do(t.Context(), "b", 0)
		cancel()
		synctest.Wait()
		if !a.done || !errors.Is(a.err, context.Canceled) {
			t.Errorf("it waits on: %+v", a)
		}
		s.end(0)
		s.sent("alone first", "alone b")
		s.end(1)
		check.Equal(t, b.answer, "alone")
	})
}

// The caller has not come to say that it leaves: its context ends at the moment
// at which the slot is free.
func TestCallWhoseTimeIsUpIsNotSent(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "first", 0)
		ctx, cancel := context.WithCancel(t.Context())
		c := &Call[work, string]{Work: "a", ctx: ctx, ready: make(chan struct{})}
		s.queue.enter(c, func() (int, <-chan struct{}) { return 0, nil })
		cancel()
		s.end(0)
		s.sent("alone first")
		if <-c.ready; c.err != context.Canceled {
			t.Errorf("error %v", c.err)
		}
		gone := s.do(ctx, "b", 0)
		s.sent("alone first")
		check.Equal(t, gone.err, context.Canceled)
	})
}

func TestRequestOutlivesItsFirstCallerAndNotItsLast(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		s.do(t.Context(), "first", 0)
		type key struct{}
		traced, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "trace"))
		last, leaveLast := context.WithCancel(t.Context())
		a, b := s.do(traced, "a", 0), s.do(last, "b", 0)
		s.end(0)
		s.sent("alone first", "a b")
		ctx := s.requests[1].ctx
		leave()
		synctest.Wait()
		if !a.done || a.err != context.Canceled || ctx.Err() != nil || ctx.Value(key{}) != "trace" {
			t.Errorf("the first left: %+v; the request: %v", a, ctx.Err())
		}
		time.Sleep(time.Minute)
		leaveLast()
		synctest.Wait()
		check.Equal(t, b.err, context.Canceled)
		check.Equal(t, b.after, time.Minute)
		check.Failed(t, ctx.Err())
		s.end(1)
	})
}

func TestCallerThatLeavesInsteadOfSendingFreesItsSlot(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		c := &Call[work, string]{Work: "a", ctx: t.Context(), ready: make(chan struct{})}
		s.queue.enter(c, func() (int, <-chan struct{}) { return 0, nil })
		s.queue.yield()
		if <-c.ready; !c.alone {
			t.Fatal("not to be sent alone")
		}
		s.do(t.Context(), "b", 0)
		check.True(t, s.queue.leave(c), "it has an answer")
		s.sent("alone b")
		s.end(0)
	})
}

func TestRequestWithoutAnAnswerIsAnErrorOfEachOfItsCalls(t *testing.T) {
	errOf := errors.New("of the client")
	for name, c := range map[string]struct {
		end  func([]*Call[work, string])
		want func(error) bool
	}{
		"panic":      {func([]*Call[work, string]) { panic("boom") }, func(err error) bool { return strings.Contains(err.Error(), "boom") }},
		"error":      {func([]*Call[work, string]) { panic(fmt.Errorf("in %w", errOf)) }, func(err error) bool { return errors.Is(err, errOf) }},
		"exit":       {func([]*Call[work, string]) { runtime.Goexit() }, func(err error) bool { return err == errNoAnswer }},
		"not a word": {func([]*Call[work, string]) {}, func(err error) bool { return err == errNoAnswer }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				s.do(t.Context(), "first", 0)
				answered, a, b := s.do(t.Context(), "x", 0), s.do(t.Context(), "a", 0), s.do(t.Context(), "b", 0)
				s.end(0)
				s.endWith(1, func(calls []*Call[work, string]) {
					calls[0].Answer("before")
					c.end(calls)
				})
				s.idle()
				check.Equal(t, answered.answer, "before")
				check.Nil(t, answered.err)
				check.Failed(t, a.err)
				check.True(t, c.want(a.err))
				check.Failed(t, b.err)
				check.True(t, c.want(b.err))
			})
		})
	}
}

func TestPanicOfACallThatIsAloneIsItsCallers(t *testing.T) {
	serving(t, func(t *testing.T, s *server) {
		func() {
			defer func() { check.Equal(t, recover(), "boom", "it did not panic") }()
			_, _ = s.queue.Do(t.Context(), "a", func() (int, <-chan struct{}) { return 0, nil }, func() string { panic("boom") })
		}()
	})
}
