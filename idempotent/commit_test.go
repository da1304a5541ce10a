package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

func TestCommitIsOneWriteWithTheCompletion(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, nil)
	value, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
		if first := book(ctx, "first"); first != book(ctx, "both") {
			t.Error("one call has two attachments")
		}
		return "done", nil
	})
	if err != nil || value != "done" || event.RoundTrips != 2 || event.Outcome != idempotent.OutcomeExecuted {
		t.Fatalf("%q, %v, %+v", value, err, event)
	}
	value, event, err = do(t.Context(), x, mustNotRun(t))
	if err != nil || value != "done" || event.RoundTrips != 1 {
		t.Errorf("replay: %q, %v, %+v", value, err, event)
	}
	b.holds(t, "both")
}

func TestCommitNothingAfterAnError(t *testing.T) {
	for name, fail := range map[string]error{"released": errCrash, "permanent": soldOut()} {
		b := newBank()
		_, _, err := do(t.Context(), newExecutor(t, b, nil), func(ctx context.Context) (string, error) {
			book(ctx, "never")
			return "", fail
		})
		if err == nil {
			t.Error(name)
		}
		b.holds(t)
	}
}

// A rejected attachment counts as an error of the handler.
func TestCommitRefused(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, nil)
	if _, event, err := do(t.Context(), x, books("x", errCrash)); err != errCrash || event.Outcome != idempotent.OutcomeReleased {
		t.Errorf("%v, %+v", err, event)
	}
	if r := stored(t, b); r.Status != driver.InProgress || r.Owner != "" {
		t.Errorf("a transaction was sent, and the record is not kept: %+v", r)
	}
	_, event, err := do(t.Context(), x, books("x", soldOut()))
	if _, ok := err.(*soldOutError); !ok || event.Outcome != idempotent.OutcomeFailed || !event.Permanent {
		t.Errorf("%v, %+v", err, event)
	}
	if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrReplayed) {
		t.Error(err)
	}
	b.holds(t)
}

func TestCommitRefusedUndoesTheSaga(t *testing.T) {
	b := newBank()
	tr := &trip{}
	_, _, err := do(t.Context(), newExecutor(t, b, nil), func(ctx context.Context) (string, error) {
		book(ctx, "x").refused = soldOut()
		return tr.book(ctx)
	})
	if _, ok := err.(*soldOutError); !ok {
		t.Error(err)
	}
	checkDone(t, tr, "flight", "hotel", "car", "end", "not a car", "not a hotel", "not a flight")
	b.holds(t)
}

func TestCommitMistakesAreNotSent(t *testing.T) {
	b := newBank()
	b.before = func(*entry) error { t.Error("it was sent"); return nil }
	_, event, err := do(t.Context(), newExecutor(t, b, nil), func(ctx context.Context) (string, error) {
		book(ctx, "x").sealErr = errCrash
		return "", nil
	})
	if err != errCrash || event.Outcome != idempotent.OutcomeReleased {
		t.Errorf("%v, %+v", err, event)
	}
}

// After a lost answer the same transaction is sent again.
func TestCommitIsSentAgain(t *testing.T) {
	for name, landed := range map[string]bool{"landed": true, "not sent": false} {
		t.Run(name, func(t *testing.T) {
			b := newBank()
			lost := 0
			lose := func(*entry) error {
				if lost++; lost < 4 {
					return errNetwork
				}
				return nil
			}
			if landed {
				b.after = lose
			} else {
				b.before = lose
			}
			value, event, err := do(t.Context(), newExecutor(t, b, nil), books("x", nil))
			if err != nil || value != "x" || event.Outcome != idempotent.OutcomeExecuted {
				t.Errorf("%q, %v, %+v", value, err, event)
			}
			b.holds(t, "x")
		})
	}
}

// The store refuses the transaction, and no condition failed. A release with
// the same fence shows that nothing was written.
func TestCommitThatTheStoreRefusesIsRolledBack(t *testing.T) {
	b := newBank()
	b.before = func(*entry) error { return errCrash }
	_, event, err := do(t.Context(), newExecutor(t, b, nil), books("x", nil))
	var failed *idempotent.StoreError
	if !errors.As(err, &failed) || !failed.RolledBack || failed.Executed || !errors.Is(err, errCrash) || event.Outcome != idempotent.OutcomeReleased {
		t.Errorf("%v, %+v", err, event)
	}
	if r := stored(t, b); r.Owner != "" || r.Status != driver.InProgress {
		t.Errorf("%+v", r)
	}
	b.before = nil
	if value, _, err := do(t.Context(), newExecutor(t, b, nil), books("x", nil)); err != nil || value != "x" {
		t.Error(value, err)
	}
	b.holds(t, "x")
}

func TestCommitWhoseReleaseIsRefusedTooIsUnknown(t *testing.T) {
	b := newBank()
	b.before = func(*entry) error { return errCrash }
	deaf := &transactionalProxy{bank: b, refuseRelease: true}
	_, event, err := do(t.Context(), newExecutor(t, deaf, nil), books("x", nil))
	var failed *idempotent.StoreError
	if !errors.As(err, &failed) || !failed.Executed || failed.RolledBack || event.Outcome != idempotent.OutcomeUnknown {
		t.Errorf("%v, %+v", err, event)
	}
}

type transactionalProxy struct {
	*bank
	refuseRelease bool
}

func (p *transactionalProxy) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if c.Release != 0 && p.refuseRelease {
		return driver.Record{}, false, errCrash
	}
	return p.bank.Change(ctx, f, c)
}

// A missing record does not tell whether the transaction was committed with it.
func TestCommitWhoseRecordIsGoneIsUnknown(t *testing.T) {
	for name, replaced := range map[string]bool{"gone": false, "begun anew": true} {
		t.Run(name, func(t *testing.T) {
			b := newBank()
			vanish := func(*entry) error {
				r := driver.Record{ID: recordID(t, theKey)}
				if replaced {
					r = driver.Record{ID: r.ID, Status: driver.InProgress, Owner: "another", Attempt: 1, Lease: time.Now().Add(time.Hour)}
				}
				if err := b.Put(r); err != nil {
					t.Error(err)
				}
				return nil
			}
			b.before = vanish
			_, event, err := do(t.Context(), newExecutor(t, b, nil), books("x", nil))
			var unknown *idempotent.OutcomeUnknownError
			if !errors.As(err, &unknown) || unknown.Err == nil || event.Outcome != idempotent.OutcomeUnknown {
				t.Errorf("%v, %+v", err, event)
			}
			if r := stored(t, b); r.Status == driver.Completed {
				t.Errorf("recreated: %+v", r)
			}
			b.holds(t)
		})
	}
}

// A failure after a transaction does not create the record anew.
func TestFailureAfterACommitRecreatesNothing(t *testing.T) {
	b := newBank()
	refusing := &refusingThenGone{bank: b, t: t}
	_, _, err := do(t.Context(), newExecutor(t, refusing, nil), books("x", nil))
	if !errors.Is(err, idempotent.ErrOutcomeUnknown) {
		t.Error(err)
	}
	if r := stored(t, b); r.Status != driver.Absent {
		t.Errorf("recreated: %+v", r)
	}
}

type refusingThenGone struct {
	*bank
	t *testing.T
}

func (p *refusingThenGone) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if c.With != nil {
		if err := p.Put(driver.Record{ID: f.ID}); err != nil {
			p.t.Error(err)
		}
		return driver.Record{}, false, &driver.Rejected{Err: soldOut()}
	}
	return p.bank.Change(ctx, f, c)
}

// A zombie's transaction writes nothing, and its caller receives the
// successor's result.
func TestCommitOfAZombieWritesNothing(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, nil)
	value, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
		r := stored(t, b)
		r.Lease = time.Now().Add(-time.Hour)
		if err := b.Put(r); err != nil {
			t.Fatal(err)
		}
		if _, _, err := do(t.Context(), x, books("successor's", nil)); err != nil {
			t.Fatal(err)
		}
		return books("zombie's", nil)(ctx)
	})
	if err != nil || value != "successor's" || event.Outcome != idempotent.OutcomeLeaseLost {
		t.Errorf("%q, %v, %+v", value, err, event)
	}
	b.holds(t, "successor's")
}

func TestCommitAloneWhereNothingIsRecorded(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	call := func(refused error) error {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{}, books("x", refused))
		return err
	}
	if err := call(nil); err != nil {
		t.Error(err)
	}
	if err := call(errCrash); err != errCrash {
		t.Error(err)
	}
	b.before = func(*entry) error { return errCrash }
	if err := call(nil); !errors.Is(err, idempotent.ErrOutcomeUnknown) || !errors.Is(err, errCrash) {
		t.Error(err)
	}
	b.holds(t, "x")
}

// delayedOnce delays the first transaction; late sends it. The second is
// refused, for a reason that is gone by then.
type delayedOnce struct {
	*bank
	late  func() bool
	tries int
}

func (d *delayedOnce) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if c.With == nil {
		return d.bank.Change(ctx, f, c)
	}
	if d.tries++; d.tries == 1 {
		d.late = func() bool { _, ok, _ := d.bank.Change(context.Background(), f, c); return ok }
		return driver.Record{}, false, errNetwork
	}
	return driver.Record{}, false, &driver.Rejected{Err: soldOut()}
}

// A late transaction must not commit what is undone.
func TestCommitComesTooLateForWhatIsUndone(t *testing.T) {
	d := &delayedOnce{bank: newBank()}
	undone := 0
	_, event, err := do(t.Context(), newExecutor(t, d, nil), func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", returns("x"), func(context.Context, string) error {
			undone++
			if d.late() {
				t.Error("a late copy was committed")
			}
			return nil
		})
		book(ctx, "transfer")
		return "done", err
	})
	if _, ok := err.(*soldOutError); !ok || event.Outcome != idempotent.OutcomeFailed || undone != 1 {
		t.Errorf("%v, %v, undone %d times", err, event.Outcome, undone)
	}
	if r := stored(t, d); r.Status != driver.Failed || r.Used() != 1 {
		t.Errorf("%+v", r)
	}
	d.holds(t)
}

// An attempt does not count if the store says that the next one may be committed.
func TestRetryableRejectionIsNoAttempt(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, &idempotent.Config{MaxAttempts: 1})
	b.before = func(*entry) error { b.before = nil; return &driver.Rejected{Err: errCrash, Retryable: true} }
	if _, event, err := do(t.Context(), x, books("x", nil)); err != errCrash || event.Outcome != idempotent.OutcomeReleased {
		t.Errorf("%v, %v", err, event.Outcome)
	}
	if _, _, err := do(t.Context(), x, books("x", nil)); err != nil {
		t.Error(err)
	}
	b.holds(t, "x")
}
