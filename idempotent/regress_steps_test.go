package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// A call that fails for good before it has reached its finished steps would
// leave them done for ever, and say that it has failed.
func TestSagaFailsForGoodBeforeItsSteps(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	tr := &trip{fails: map[string]error{"hotel": errCrash}}
	if _, _, err := do(t.Context(), x, tr.book); err != errCrash {
		t.Fatal(err)
	}
	_, _, err := do(t.Context(), x, failsWith(soldOut()))
	var unreached *idempotent.CompensationError
	if !errors.As(err, &unreached) || unreached.Step != "flight" || !errors.Is(err, idempotent.ErrStep) {
		t.Errorf("%v", err)
	}
	if r := stored(t, store); r.Status != driver.InProgress || string(r.Steps["flight"]) != `~="a flight"` {
		t.Errorf("%+v", r)
	}
	// It is not undoing yet: one that reaches them may also go forward.
	tr.done, tr.fails = nil, nil
	if value, _, err := do(t.Context(), x, tr.book); err != nil || value != "booked" {
		t.Errorf("%q, %v", value, err)
	}
	checkDone(t, tr, "hotel", "car", "end")
}

// Without a record nobody goes on: what can be undone is undone.
func TestSagaWithoutClaimUndoesWhatItCan(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	tr := &trip{fails: map[string]error{"car": soldOut(), "not a hotel": errCrash}}
	_, err := idempotent.Do(t.Context(), x, idempotent.Key{}, tr.book)
	var failed *idempotent.CompensationError
	if !errors.As(err, &failed) || failed.Step != "hotel" {
		t.Error(err)
	}
	checkDone(t, tr, "flight", "hotel", "car", "not a hotel", "not a flight")
}

// Two calls that one message leads to send with keys of their own.
func TestChainKeysOfTwoRecordsUnderOneMessage(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	const chain = "root:message"
	ctx := adapter.WithChain(t.Context(), chain)
	seen := map[string]string{}
	for _, id := range []string{"3", "4", chain} {
		_, err := idempotent.Do(ctx, x, idempotent.Key{ID: id}, func(ctx context.Context) (string, error) {
			key := idempotent.ChainKey(ctx, "x")
			if other, ok := seen[key]; ok {
				t.Errorf("%s and %s both send with %q", id, other, key)
			}
			seen[key] = id
			return "", nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen["root:message:op#x"] != chain {
		t.Errorf("%q", seen)
	}
}

// A call without a record has nothing but the chain that is the same in every
// attempt.
func TestChainKeysWithoutRecordAreStable(t *testing.T) {
	ctx := adapter.WithChain(t.Context(), "root:message")
	one, other := idempotent.ChainKey(idempotent.Unprotected(ctx), "x"), idempotent.ChainKey(idempotent.Unprotected(ctx), "x")
	if one != other {
		t.Errorf("%q and %q", one, other)
	}
}

// Heartbeats that go well would keep a step going for ever that the store
// refuses.
func TestStepThatIsRefusedComesToAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &proxy{Store: memory.New(0), change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if len(c.Steps) > 0 {
				return driver.Record{}, false, errors.New("access denied")
			}
			return next()
		}}
		began := time.Now()
		_, _, err := do(t.Context(), newExecutor(t, p, nil), func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", returns("x"))
		})
		var failed *idempotent.StoreError
		if !errors.As(err, &failed) || !failed.Executed || time.Since(began) > time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

var errConflict = fmt.Errorf("TransactionConflict: %w: %w", driver.ErrNotWritten, driver.ErrUnavailable)

// A conflict has written nothing, and says so: what follows it is the answer.
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
	if _, event, err := do(t.Context(), newExecutor(t, b, optimistic), books("x", nil)); err != errCrash || event.Outcome != idempotent.OutcomeReleased {
		t.Errorf("%v, %+v", err, event)
	}
}

func TestOptimisticConflictsUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank()
		b.before = func(*entry) error { return errConflict }
		_, event, err := do(t.Context(), newExecutor(t, b, optimistic), books("x", nil))
		var failed *idempotent.StoreError
		if !errors.As(err, &failed) || !failed.RolledBack || event.Outcome != idempotent.OutcomeReleased {
			t.Errorf("%v, %+v", err, event)
		}
	})
}

// A transaction whose answer was lost may still be committed under a lease
// that is not known to have ended.
func TestRefusedCommitWhoseReleaseIsNotHeard(t *testing.T) {
	b := newBank()
	deaf := &transactionalProxy{bank: b, refuseRelease: true}
	_, event, err := do(t.Context(), newExecutor(t, deaf, nil), books("x", errAgain))
	var failed *idempotent.StoreError
	if !errors.As(err, &failed) || !failed.Executed || failed.Handler != errAgain || event.Outcome != idempotent.OutcomeUnknown {
		t.Errorf("%v, %+v", err, event)
	}
}

var errAgain = errors.New("again")

func TestOptimisticNeedsTransactions(t *testing.T) {
	if _, err := idempotent.New("op", memory.New(0), optimistic); err == nil {
		t.Error("accepted")
	}
}
