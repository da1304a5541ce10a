package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// A connection that hangs takes a part of the time that is left, and the rest is
// for another try.
func TestHungCompletionIsRepeatedInTheTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, tries := memory.New(0), 0
		x := newExecutor(t, &proxy{Store: store, change: func(ctx context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if c.Status != driver.Completed {
				return next()
			}
			if tries++; tries == 1 {
				<-ctx.Done()
				return driver.Record{}, false, errNetwork
			}
			return next()
		}}, &idempotent.Config{Lease: 3 * time.Second})
		value, event, err := do(t.Context(), x, returns("done"))
		if err != nil || value != "done" || event.Outcome != idempotent.OutcomeExecuted {
			t.Errorf("got %q, %v, %+v after %d tries", value, err, event, tries)
		}
		if r := stored(t, store); tries != 2 || r.Status != driver.Completed {
			t.Errorf("%d tries left %+v", tries, r)
		}
	})
}

// Another process, whose clock is behind, still replays the record.
func TestCutoffOfAWriteAllowsForTheClockSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, frozen(store), &idempotent.Config{Lease: 10 * time.Second, ClockSkew: 5 * time.Second})
		value, event, err := meanwhile(t, x, nil, func() {
			if err := store.Put(driver.Record{
				ID: recordID(t, theKey), Status: driver.Completed, Owner: "successor", Attempt: 2,
				Data: []byte(`"theirs"`), Expires: time.Now().Add(-4 * time.Second),
			}); err != nil {
				t.Error(err)
			}
		})
		if err != nil || value != "theirs" || event.Outcome != idempotent.OutcomeLeaseLost {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
		if r := stored(t, store); string(r.Data) != `"theirs"` {
			t.Errorf("the record of the successor is now %+v", r)
		}
	})
}

// Retention is stored in seconds, and a part of one counts as a whole one.
func TestRetentionIsNeverCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(900 * time.Millisecond)
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: 2 * time.Second, Retention: time.Second, ClockSkew: time.Second})
		begun := time.Now()
		if _, _, err := do(t.Context(), x, func(context.Context) (string, error) {
			if kept := stored(t, store).Expires.Sub(begun); kept < 4*time.Second || kept >= 5*time.Second {
				t.Errorf("in progress it is kept for %v", kept)
			}
			return "done", nil
		}); err != nil {
			t.Fatal(err)
		}
		if kept := stored(t, store).Expires.Sub(begun); kept < 2*time.Second || kept >= 3*time.Second {
			t.Errorf("it is kept for %v", kept)
		}
	})
}
