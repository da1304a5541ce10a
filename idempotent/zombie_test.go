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

// meanwhile runs a handler, and others while it runs: as if its process had
// been frozen past its lease.
func meanwhile(t *testing.T, x *idempotent.Executor, end error, others func()) (string, *idempotent.Event, error) {
	t.Helper()
	return do(t.Context(), x, func(context.Context) (string, error) {
		time.Sleep(time.Minute)
		others()
		return "zombie", end
	})
}

// frozen is a store that no heartbeat reaches.
func frozen(store driver.Store) *proxy {
	return hooked(store, fails(isExtend, errNetwork))
}

// The record may have vanished: expired, or released by a successor. The work
// is done, so the record is created anew as completed.
func TestCompleteRecreatesAVanishedRecord(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	try(t.Context(), t, x, func(context.Context) (string, error) {
		check.Nil(t, store.Put(driver.Record{ID: recordID(t, theKey)}))
		return "done", nil
	}).returned("done")
	try(t.Context(), t, x, mustNotRun(t)).returned("done")
	_, err := idempotent.Do(t.Context(), x, otherPayload, mustNotRun(t))
	check.Is(t, err, idempotent.ErrKeyReused, "the fingerprint was lost")
}

// A full memory store drops an expired record to put a vanished one back.
func TestFullMemoryMakesRoomForDoneWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(1)
		try(t.Context(), t, newExecutor(t, store, nil), func(context.Context) (string, error) {
			_ = store.Put(driver.Record{ID: recordID(t, theKey)})
			_ = store.Put(driver.Record{ID: "other", Status: driver.Completed, Expires: time.Now().Add(-time.Hour)})
			return "done", nil
		}).succeeded()
	})
}

// A record that a zombie completes receives the fingerprint of its payload.
func TestAdoptedRecordHasAFingerprint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 10 * time.Second}
		if _, _, err := meanwhile(t, newExecutor(t, frozen(store), config), nil, func() {
			_ = store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Attempt: 2, Lease: driver.LeaseEnded, Expires: time.Now().Add(time.Hour)})
		}); err != nil {
			t.Fatal(err)
		}
		_, err := idempotent.Do(t.Context(), newExecutor(t, store, config), otherPayload, mustNotRun(t))
		check.Is(t, err, idempotent.ErrKeyReused)
	})
}

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
