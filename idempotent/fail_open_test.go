package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestFailOpen(t *testing.T) {
	open := &idempotent.Config{OnStoreError: idempotent.FailOpen}
	lost := onFirst(isCreate, unanswered)
	for name, claim := range map[string]hook{"the claim was not stored": notSent(errNetwork), "its answer was lost": unanswered} {
		t.Run(name+", success", func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, hooked(store, onFirst(isCreate, claim)), open)
			try(t.Context(), t, x, returns("ran")).returned("ran").ended(idempotent.OutcomeBypassed).observed(errNetwork)
			try(t.Context(), t, x, mustNotRun(t)).returned("ran")
		})
	}
	t.Run("error", func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, hooked(store, lost), open)
		first := errors.New("try again")
		try(t.Context(), t, x, failsWith(first)).fails(first)
		try(t.Context(), t, x, returns("second")).returned("second")
	})
	t.Run("the store stays down", func(t *testing.T) {
		x := newExecutor(t, hooked(unusable{}, notSent(errNetwork)), open)
		try(t.Context(), t, x, returns("ran")).returned("ran").ended(idempotent.OutcomeBypassed).roundTrips(2)
	})
	t.Run("not for what is wrong for good", func(t *testing.T) {
		x := newExecutor(t, hooked(memory.New(0), fails(isCreate, errors.New("no such table"))), open)
		try(t.Context(), t, x, mustNotRun(t)).is(idempotent.ErrStore)
	})
	t.Run("another completed meanwhile", func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, hooked(store, onFirst(isCreate, notSent(errNetwork))), open)
		try(t.Context(), t, x, func(context.Context) (string, error) {
			try(context.Background(), t, newExecutor(t, store, nil), returns("theirs")).succeeded()
			return "ours", nil
		}).returned("theirs")
	})
}

// claimsFail is a store whose claims fail, for runs that fail open.
func claimsFail(store driver.Store) *proxy {
	return hooked(store, fails(isClaim, errNetwork))
}

// A call in an invocation fails open when the store hangs, with time left for
// its handler.
func TestHungStoreFailsOpenWithinTheInvocation(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		p := hooked(memory.New(0), on(isCreate, hangs))
		try(during(t, 30*time.Second), t, newExecutor(t, p, &idempotent.Config{OnStoreError: idempotent.FailOpen}), returns("ran")).returned("ran")
	})
}

// The frozen attempt records its step after the call has read the record, and before
// the takeover lands. A run that does not know the step could fail for good over it.
func TestTakeoverNeverFailsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := abandoned(t)
		thaws := onFirst(isTakeover, func(w write) (driver.Record, bool, error) {
			step := driver.Change{Steps: map[string][]byte{"charge": []byte(`~="a charge"`)}}
			_, ok, err := store.Change(t.Context(), driver.Fence{ID: w.fence.ID, Owner: "crashed"}, step)
			check.Must(t, err)
			check.True(t, ok, "the step of the frozen attempt is not recorded")
			return unanswered(w)
		})
		x := newExecutor(t, hooked(store, thaws), &idempotent.Config{OnStoreError: idempotent.FailOpen})
		try(t.Context(), t, x, failsWith(idempotent.Permanent(errors.New("sold out")))).is(idempotent.ErrStore).attempt(0)
		recordIs(t, store, "released, attempt 2, refunds 1, steps charge")
	})
}

// A run that failed open compares its payload with the record that it meets
// when it finishes.
func TestFailOpenReplaysNoOtherPayload(t *testing.T) {
	open := &idempotent.Config{OnStoreError: idempotent.FailOpen}
	t.Run("gets the other's result", func(t *testing.T) {
		store := memory.New(0)
		_, _, _ = do(t.Context(), newExecutor(t, store, nil), returns("first payload's"))
		got, err := idempotent.Do(t.Context(), newExecutor(t, claimsFail(store), open), otherPayload, returns("second payload's"))
		if err == nil && got != "second payload's" {
			t.Errorf("the second payload is answered with %q", got)
		}
	})
	t.Run("leaves its result to the other", func(t *testing.T) {
		store := memory.New(0)
		// The first payload's second attempt was released: the record stays.
		counting := newExecutor(t, store, &idempotent.Config{MaxAttempts: 5})
		_, _, _ = do(t.Context(), counting, failsWith(errors.New("try again")))
		_, err := idempotent.Do(t.Context(), newExecutor(t, claimsFail(store), open), otherPayload, returns("second payload's"))
		got, _, err2 := do(t.Context(), counting, returns("first payload's"))
		if err2 == nil && got != "first payload's" {
			t.Errorf("the first payload is answered with %q (the run that failed open got %v)", got, err)
		}
	})
}

// A run that failed open replaces a record that has expired and that TTL has
// not deleted yet.
func TestFailOpenReplacesAnExpiredRecord(t *testing.T) {
	store := memory.New(0)
	check.Must(t, store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.Completed, Owner: "x", Attempt: 1,
		Expires: time.Now().Add(-48 * time.Hour), Data: []byte(`"of the day before yesterday"`)}))
	x := newExecutor(t, claimsFail(store), &idempotent.Config{OnStoreError: idempotent.FailOpen})
	try(t.Context(), t, x, returns("today's")).returned("today's")
	try(t.Context(), t, newExecutor(t, store, nil), returns("second run")).returned("today's")
}

// A transaction that meets another's result writes nothing. A handler with
// effects of its own would repeat them.
func TestFailOpenNeverCommitsBesideAnother(t *testing.T) {
	b := newBank()
	try(t.Context(), t, newExecutor(t, b, nil), books("first", nil)).succeeded()
	b.on = fails(isClaim, errNetwork)
	try(t.Context(), t, newExecutor(t, b, &idempotent.Config{OnStoreError: idempotent.FailOpen}), books("second", nil)).returned("first").ended(idempotent.OutcomeReplayed)
	b.holds(t, "first")
}

// A batch with little time left does not show that the store is down, and the record may
// be finished.
func TestClaimThatWouldFailOpenIsNotBoundByItsBatch(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		x := newExecutor(t, hooked(memory.New(0), on(isCreate, slow(800*time.Millisecond))), &idempotent.Config{OnStoreError: idempotent.FailOpen})
		runs := 0
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			try(startsBy(ctx, time.Second), t, x, func(context.Context) (string, error) { runs++; return "", nil }).succeeded()
			cancel()
		}
		check.Equal(t, runs, 1)
	})
}

// Its caller has gone, so nobody asked for an unprotected run.
func TestCancelledCallDoesNotFailOpen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store := hooked(memory.New(0), on(isClaim, func(write) (driver.Record, bool, error) {
		cancel()
		return driver.Record{}, false, errNetwork
	}))
	try(ctx, t, newExecutor(t, store, &idempotent.Config{OnStoreError: idempotent.FailOpen}), mustNotRun(t)).is(idempotent.ErrStore)
}
