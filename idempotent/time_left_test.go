package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A connection that hangs takes a part of the time that is left, and the rest is
// for another try.
func TestHungCompletionIsRepeatedInTheTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		p := hooked(store, onFirst(isChange, hangs))
		try(t.Context(), t, newExecutor(t, p, &idempotent.Config{Lease: 3 * time.Second}), returns("done")).returned("done").ended(idempotent.OutcomeExecuted)
		check.Equal(t, p.tries, 3)
		check.Equal(t, stored(t, store).Status, driver.Completed)
	})
}

// Another process, whose clock is behind, still replays the record.
func TestCutoffOfAWriteAllowsForTheClockSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, frozen(store), &idempotent.Config{Lease: 10 * time.Second, ClockSkew: 5 * time.Second})
		value, event, err := meanwhile(t, x, nil, func() {
			check.Nil(t, store.Put(driver.Record{
				ID: recordID(t, theKey), Status: driver.Completed, Owner: "successor", Attempt: 2,
				Data: []byte(`"theirs"`), Expires: time.Now().Add(-4 * time.Second),
			}))
		})
		check.Nil(t, err)
		check.Equal(t, value, "theirs")
		check.Equal(t, event.Outcome, idempotent.OutcomeLeaseLost)
		check.Equal(t, string(stored(t, store).Data), `"theirs"`, "the record of the successor is now")
	})
}

// Retention is stored in seconds, and a part of one counts as a whole one.
func TestRetentionIsNeverCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(900 * time.Millisecond)
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: 2 * time.Second, Retention: time.Second, ClockSkew: time.Second})
		begun := time.Now()
		try(t.Context(), t, x, func(context.Context) (string, error) {
			kept := stored(t, store).Expires.Sub(begun)
			check.True(t, kept >= 4*time.Second, kept)
			check.True(t, kept < 5*time.Second, kept)
			return "done", nil
		}).succeeded()
		kept := stored(t, store).Expires.Sub(begun)
		check.True(t, kept >= 2*time.Second, kept)
		check.True(t, kept < 3*time.Second, kept)
	})
}
