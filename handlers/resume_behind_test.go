package handlers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// Resumptions that fail, time out or are cut off leave nothing behind for good.

// inRounds calls resume in so many rounds, with a minute each.
func inRounds(t *testing.T, n int, resume func(context.Context, handlers.ResumeEvent) (handlers.ResumeReport, error)) (resumed int) {
	t.Helper()
	for range n {
		report, err := resume(within(t, time.Minute), handlers.ResumeEvent{})
		check.Must(t, err)
		resumed += report.Resumed
		time.Sleep(5 * time.Minute)
	}
	return resumed
}

// once returns a handler that counts its runs, of which the first ends with err.
func once(runs *int, err error) func(context.Context, order) (string, error) {
	return func(context.Context, order) (string, error) {
		if *runs++; *runs == 1 {
			return "", err
		}
		return "done", nil
	}
}

func TestResumptionThatFailsIsMadeAgain(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		c.abandon(t, "start", "o1")
		runs := 0
		resume := handlers.Resume(handlers.Resumed(c.x, keyOfOrder, once(&runs, errors.New("503"))), nil)
		check.Equal(t, inRounds(t, 6, resume), 1)
		check.Equal(t, runs, 2)
	})
}

// deafTakeovers applies takeovers, and loses their answers.
type deafTakeovers struct {
	*memory.Store
	deaf bool
}

func (s *deafTakeovers) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	r, ok, err := s.Store.Change(ctx, f, c)
	if s.deaf && c.Owner != "" {
		<-ctx.Done()
		return driver.Record{}, false, ctx.Err()
	}
	return r, ok, err
}

func TestTakeoverWithoutAnswerIsMadeAgain(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		c.abandon(t, "start", "o1")
		store := &deafTakeovers{Store: c.store, deaf: true}
		x := newExecutor(t, store, &idempotent.Config{Resume: true, Lease: resumeLease})
		runs := 0
		resume := handlers.Resume(handlers.Resumed(x, keyOfOrder, once(&runs, nil)), nil)
		inRounds(t, 1, resume)
		r, err := c.store.Get(t.Context(), c.idOf("o1"))
		check.Must(t, err)
		check.Time(t, r.Lease, driver.LeaseEnded, "it is given back")
		store.deaf = false
		check.Equal(t, inRounds(t, 6, resume), 1)
		check.Equal(t, runs, 1)
	})
}

// Sagas that take all of the time, each time, stand in nobody's way.
func TestHangingSagasDoNotKeepTheRestFromBeingResumed(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		x := newExecutor(t, c.store, &idempotent.Config{Resume: true})
		resume := handlers.Resume(handlers.Resumed(x, keyOfOrder, c.run), nil)
		c.abandon(t, "reserve", "h1", "h2", "h3", "h4", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8")
		time.Sleep(time.Hour)
		var others atomic.Int32
		c.charging = func(ctx context.Context, id string) error {
			if id[0] == 'h' {
				<-ctx.Done()
				return ctx.Err()
			}
			others.Add(1)
			return nil
		}
		inRounds(t, 60, resume)
		check.Equal(t, others.Load(), 8)
	})
}

func TestRecordThatCannotBeReadIsLeft(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		paged := &pagedStore{Store: c.store}
		x := newExecutor(t, paged, &idempotent.Config{Resume: true, Observer: idempotent.NoObserver{}})
		resume := handlers.Resume(handlers.Resumed(x, keyOfOrder, c.run), nil)
		c.abandon(t, "reserve", "o1", "o2", "o3", "o4", "o5")
		paged.unread = map[string]error{c.idOf("o1"): errors.New("its steps are no map")}
		lines := logged(t, func() { check.Equal(t, inRounds(t, 1, resume), 4) })
		check.Equal(t, len(lines), 1)
		isLine(t, lines[0], map[string]any{"record_id": c.idOf("o1")})
	})
}

// A refunded attempt does not count, so the one that finishes is the first.
func TestFinishedAfterARefundIsResumed(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		c.charging = func(context.Context, string) error { return idempotent.Retryable(errors.New("down")) }
		_, err := c.handler(t.Context(), order{ID: "o1"})
		check.Says(t, err, "down")
		c.charging = nil
		time.Sleep(time.Hour)
		c.round(t, handlers.ResumeReport{Resumed: 1})
		c.did(t, bought("o1"))
	})
}

// Each takeover has a lease of its own.
func TestAgeIsThatOfTheFirstAttempt(t *testing.T) {
	inBubble(t, idempotent.Config{}, nil, func(t *testing.T, c *checkout) {
		c.abandon(t, "reserve", "o1")
		r := c.died["o1"]
		time.Sleep(time.Hour)
		r.Attempt, r.Lease = 20, driver.WholeMillis(time.Now().Add(-2*time.Minute))
		check.Must(t, c.store.Put(r))
		c.charging = func(context.Context, string) error { return errors.New("again") }
		c.round(t, handlers.ResumeReport{Failed: 1, Oldest: 3720})
	})
}
