package idempotent_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

var optimistic = &idempotent.Config{Optimistic: true}

func TestOptimisticIsOneRoundTrip(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, optimistic)
	try(t.Context(), t, x, books("first", nil)).returned("first").roundTrips(1).ended(idempotent.OutcomeExecuted).attempt(1)
	try(t.Context(), t, x, books("second", nil)).returned("first").roundTrips(1).ended(idempotent.OutcomeReplayed)
	tryKey(t.Context(), t, x, otherPayload, books("third", nil)).is(idempotent.ErrKeyReused)
	b.holds(t, "first")
}

func TestOptimisticErrors(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, optimistic)
	try(t.Context(), t, x, failsWith(errCrash)).fails(errCrash).roundTrips(0).ended(idempotent.OutcomeReleased)
	try(t.Context(), t, x, books("x", errCrash)).fails(errCrash).ended(idempotent.OutcomeReleased)
	check.Equal(t, stored(t, b).Status, driver.Absent)
	try(t.Context(), t, x, books("x", soldOut())).soldOut().ended(idempotent.OutcomeFailed)
	try(t.Context(), t, x, books("y", nil)).is(idempotent.ErrReplayed)
	b.holds(t)
}

// No fence protects a write that was not acknowledged.
func TestOptimisticUnacknowledgedIsUnknown(t *testing.T) {
	b := newBank()
	b.before = func(*entry) error { return errCrash }
	try(t.Context(), t, newExecutor(t, b, optimistic), books("x", nil)).is(idempotent.ErrOutcomeUnknown).is(errCrash).ended(idempotent.OutcomeUnknown)
}

// A refusal of the second copy does not tell what became of the first.
func TestOptimisticRefusedAfterALostAnswer(t *testing.T) {
	b := newBank()
	tries := 0
	b.before = func(e *entry) error {
		if tries++; tries == 1 {
			e.refused = errCrash
		}
		return errNetwork
	}
	try(t.Context(), t, newExecutor(t, b, optimistic), books("x", nil)).is(idempotent.ErrOutcomeUnknown).is(errCrash).ended(idempotent.OutcomeUnknown)
	// One that is stored stands in the way of late copies.
	b = newBank()
	b.before = func(e *entry) error {
		e.refused = soldOut()
		return errNetwork
	}
	try(t.Context(), t, newExecutor(t, b, optimistic), books("x", nil)).soldOut().ended(idempotent.OutcomeFailed)
}

// Every call that loses would have the other effects, whatever the handler
// returns.
func TestOptimisticRefusesOtherEffects(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, optimistic)
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		_, err := idempotent.Step(ctx, "charge", mustNotRun(t))
		check.Is(t, err, idempotent.ErrStep)
		return books("x", nil)(ctx)
	}).is(idempotent.ErrStep).ended(idempotent.OutcomeReleased)
	b.holds(t)
	for name, helper := range map[string]func(context.Context){
		"DownstreamKey": func(ctx context.Context) { idempotent.DownstreamKey(ctx, "x") },
		"ChainKey":      func(ctx context.Context) { idempotent.ChainKey(ctx, "x") },
	} {
		panics(t, name, func() {
			_, _, _ = do(t.Context(), x, func(ctx context.Context) (string, error) { helper(ctx); return "", nil })
		})
	}
}

func TestOptimisticWithoutWrites(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, optimistic)
	try(t.Context(), t, x, returns("read")).returned("read").roundTrips(1).ended(idempotent.OutcomeExecuted)
	try(t.Context(), t, x, returns("again")).returned("read").ended(idempotent.OutcomeRepeated)
}

// Its record is in progress, and the caller receives another error. An adapter that took
// it for a stored failure would drop the message.
func TestFailureOfAnOptimisticRunThatMeetsAClaimIsNotPermanent(t *testing.T) {
	for _, left := range []time.Duration{time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			b := newBank()
			check.Must(t, b.Put(driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Owner: "other", Attempt: 1, Lease: time.Now().Add(left), Expires: time.Now().Add(2 * time.Hour)}))
			b.on = fails(isTakeover, errNetwork)
			x := newExecutor(t, b, &idempotent.Config{Optimistic: true, Wait: time.Second})
			r := try(t.Context(), t, x, failsWith(idempotent.Permanent(errCrash)))
			check.Equal(t, r.event.Permanent, false, left)
			recordIs(t, b, "in progress by other")
		})
	}
}

var errConflict = fmt.Errorf("TransactionConflict: %w: %w", driver.ErrNotWritten, driver.ErrUnavailable)

// A conflict has written nothing, so the answer that follows it counts.
func TestOptimisticRefusedAfterAConflict(t *testing.T) {
	b := newBank()
	tries := 0
	b.before = func(e *entry) error {
		if tries++; tries == 1 {
			e.refused = errCrash
			return errConflict
		}
		return nil
	}
	try(t.Context(), t, newExecutor(t, b, optimistic), books("x", nil)).fails(errCrash).ended(idempotent.OutcomeReleased)
}

func TestOptimisticConflictsUntilTheDeadlineRollBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank()
		b.before = func(*entry) error { return errConflict }
		try(t.Context(), t, newExecutor(t, b, optimistic), books("x", nil)).ended(idempotent.OutcomeReleased).rolledBack()
	})
}
