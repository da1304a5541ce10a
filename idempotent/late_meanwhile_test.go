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
	"github.com/lambda-once/once/internal/check"
)

func TestKeyThatBecomesLateWhileItWaits(t *testing.T) {
	wait := func(t *testing.T, store driver.Store, fn func(context.Context) (string, error)) result {
		config := refusesLate()
		config.Wait = forEver
		return tryIssued(t.Context(), t, newExecutor(t, store, config), 30*time.Minute, fn)
	}
	bubble(t, "for a call that is released", func(t *testing.T) {
		store := memory.New(0)
		done := inBackground(t, newExecutor(t, store, nil), 40*time.Minute, "", errors.New("try again"))
		wait(t, store, mustNotRun(t)).refusedAsLate()
		recordIs(t, store, "no record")
		<-done
	})
	bubble(t, "for a call that succeeds", func(t *testing.T) {
		store := memory.New(0)
		done := inBackground(t, newExecutor(t, store, nil), 40*time.Minute, "theirs", nil)
		wait(t, store, mustNotRun(t)).returned("theirs").ended(idempotent.OutcomeReplayed)
		<-done
	})
	bubble(t, "for a call that has crashed", func(t *testing.T) {
		store := memory.New(0)
		abandonClaim(t, store, 40*time.Minute)
		wait(t, store, returns("ours")).returned("ours").ended(idempotent.OutcomeTakeover)
	})
}

// Each of identical calls is judged by its own key.
func TestJoinedCallsAreLateByThemselves(t *testing.T) {
	joins := func() *idempotent.Config {
		config := refusesLate()
		config.Wait = forEver
		return config
	}
	bubble(t, "a late one that leads", func(t *testing.T) {
		p := hooked(memory.New(0), nil)
		p.get = func(ctx context.Context) (driver.Record, error) {
			time.Sleep(time.Second)
			return driver.Record{}, nil
		}
		x := newExecutor(t, p, joins())
		done := make(chan struct{})
		go func() {
			defer close(done)
			tryIssued(t.Context(), t, x, 2*time.Hour, mustNotRun(t)).refusedAsLate()
		}()
		synctest.Wait()
		tryIssued(t.Context(), t, x, 0, returns("ours")).returned("ours").ended(idempotent.OutcomeExecuted)
		<-done
	})
	for _, end := range []error{nil, errors.New("try again")} {
		bubble(t, fmt.Sprint("a late one that joins, and the other returns ", end), func(t *testing.T) {
			x := newExecutor(t, memory.New(0), joins())
			done := inBackground(t, x, time.Second, "theirs", end)
			r := tryIssued(t.Context(), t, x, 2*time.Hour, mustNotRun(t))
			if end == nil {
				r.returned("theirs").ended(idempotent.OutcomeReplayed)
				check.True(t, r.event.Joined)
			} else {
				r.refusedAsLate()
			}
			<-done
		})
	}
}

func TestLateKeyIsReplayedFromTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := refusesLate()
		config.CacheEntries = 1
		x := newExecutor(t, memory.New(0), config)
		tryIssued(t.Context(), t, x, 30*time.Minute, returns("first")).returned("first")
		time.Sleep(45 * time.Minute)
		tryIssued(t.Context(), t, x, 75*time.Minute, mustNotRun(t)).returned("first").roundTrips(0)
	})
}

// The record of an earlier call may have expired before the claim arrived.
func TestClaimAnsweredBehindTheRetentionIsRemoved(t *testing.T) {
	for _, delay := range []time.Duration{5 * time.Second, 2 * time.Minute} { // the latter is the lease, too
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, hooked(store, onFirst(isCreate, delayed(delay))), refusesLate())
			tryIssued(t.Context(), t, x, time.Hour-2*time.Second, mustNotRun(t)).refusedAsLate().roundTrips(3)
			recordIs(t, store, "no record")
		})
	}
}

// The record that it took over is still there.
func TestOverdueTakeoverOfALateKeyIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := abandoned(t)
		x := newExecutor(t, hooked(store, onFirst(isTakeover, delayed(2*time.Minute))), refusesLate())
		tryIssued(t.Context(), t, x, 2*time.Hour, returns("ours")).returned("ours").ended(idempotent.OutcomeTakeover).attempt(3)
		recordIs(t, store, "completed, attempt 3, refunds 1")
	})
}

func TestTakeoverOfARecordThatIsGoneIsRefusedAsLate(t *testing.T) {
	store := abandoned(t)
	gone := onFirst(isTakeover, notSent(nil)) // it met none
	tryIssued(t.Context(), t, newExecutor(t, hooked(store, gone), refusesLate()), 2*time.Hour, mustNotRun(t)).refusedAsLate()
}

func TestClaimThatFailsBehindTheRetentionDoesNotFailOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := refusesLate()
		config.OnStoreError = idempotent.FailOpen
		x := newExecutor(t, hooked(memory.New(0), on(isCreate, hangs)), config)
		tryIssued(t.Context(), t, x, time.Hour-2*time.Second, mustNotRun(t)).is(idempotent.ErrStore).ended(idempotent.OutcomeFailed)
		tryIssued(t.Context(), t, x, 0, returns("ran")).returned("ran").ended(idempotent.OutcomeBypassed)
	})
}

// A run without a claim creates its record last.
func TestOptimisticRunThatEndsBehindTheRetentionCommitsNothing(t *testing.T) {
	outlasts := func(ctx context.Context) (string, error) {
		time.Sleep(time.Minute)
		return books("ours", nil)(ctx)
	}
	config := refusesLate()
	config.Optimistic = true
	bubble(t, "without a record", func(t *testing.T) {
		b := newBank()
		tryIssued(t.Context(), t, newExecutor(t, b, config), time.Hour-2*time.Second, outlasts).refusedAsLate().roundTrips(1)
		b.holds(t)
		recordIs(t, b, "no record")
	})
	bubble(t, "with a failure", func(t *testing.T) {
		b := newBank()
		fails := func(context.Context) (string, error) {
			time.Sleep(time.Minute)
			return "", idempotent.Permanent(errors.New("it exists"))
		}
		tryIssued(t.Context(), t, newExecutor(t, b, config), time.Hour-2*time.Second, fails).refusedAsLate()
		recordIs(t, b, "no record")
	})
	// It has had its effects: an error that nothing was run would be wrong.
	bubble(t, "with nothing to commit", func(t *testing.T) {
		b := newBank()
		slow := func(context.Context) (string, error) {
			time.Sleep(time.Minute)
			return "ran", nil
		}
		tryIssued(t.Context(), t, newExecutor(t, b, config), time.Hour-2*time.Second, slow).returned("ran").ended(idempotent.OutcomeExecuted)
		recordIs(t, b, "completed")
	})
	bubble(t, "beside a call that finished", func(t *testing.T) {
		b := newBank()
		done := inBackground(t, newExecutor(t, b.Store, nil), time.Second, "theirs", nil)
		tryIssued(t.Context(), t, newExecutor(t, b, config), time.Hour-2*time.Second, outlasts).returned("theirs").ended(idempotent.OutcomeReplayed)
		b.holds(t)
		<-done
	})
}

// It has had its effects: an error that nothing was run would be wrong.
func TestRunThatFailedOpenIsNotRefusedAsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank()
		b.on = on(isCreate, func(w write) (driver.Record, bool, error) {
			if isClaim(w) {
				return driver.Record{}, false, errNetwork
			}
			return met(t, expired), false, nil // as after a conflict of another kind
		})
		config := refusesLate()
		config.OnStoreError = idempotent.FailOpen
		tryIssued(t.Context(), t, newExecutor(t, b, config), time.Hour-2*time.Second, func(ctx context.Context) (string, error) {
			time.Sleep(time.Minute)
			return books("ours", nil)(ctx)
		}).is(idempotent.ErrInProgress)
	})
}

// Its record is there from before.
func TestKeyThatBecomesLateBeforeItsTurnRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), refusesLate())
		ctx := inTurn(t, func(context.Context) error { time.Sleep(time.Hour); return nil })
		tryIssued(ctx, t, x, 30*time.Minute, returns("ran")).returned("ran").ended(idempotent.OutcomeExecuted)
	})
}

func TestExecutionContinuesWithALateKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		execution := adapter.Execution{ID: []string{"arn"}, Until: time.Now().Add(24 * time.Hour), Decide: func(err error) idempotent.Outcome {
			if err != nil {
				return idempotent.OutcomeSuspended
			}
			return idempotent.OutcomeExecuted
		}}
		ctx := adapter.With(t.Context(), adapter.Durable(execution))
		x := newExecutor(t, store, refusesLate())
		tryIssued(ctx, t, x, 0, failsWith(errors.New("suspended"))).ended(idempotent.OutcomeSuspended)
		time.Sleep(2 * time.Hour)
		tryIssued(ctx, t, x, 2*time.Hour, returns("done")).returned("done").attempt(1)
		tryIssued(ctx, t, newExecutor(t, memory.New(0), refusesLate()), 2*time.Hour, mustNotRun(t)).refusedAsLate()
	})
}
