package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// silent are the calls that a store does not answer. Those that landed have been
// applied.
type silent struct{ creates, takeovers, rest, gets, landed bool }

func (s silent) over(store driver.Store) *proxy {
	p := hooked(store, on(func(w write) bool {
		return s.creates && isCreate(w) || s.takeovers && isTakeover(w) || s.rest && isChange(w) && !isTakeover(w)
	}, func(w write) (driver.Record, bool, error) {
		if s.landed {
			if _, _, err := w.send(); err != nil {
				return driver.Record{}, false, err
			}
		}
		return hangs(w)
	}))
	if s.gets {
		p.get = hungGet
	}
	return p
}

// A store that does not answer leaves the Reserve: the process is killed at the
// end of the invocation, and the call would leave no trace.
func TestHungClaimEndsBeforeItsInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, c := range []struct {
		name       string
		config     idempotent.Config
		store      silent
		lapsed     bool
		invocation time.Duration
		trips      int
	}{
		{"the claim", idempotent.Config{}, silent{creates: true}, false, 3 * time.Second, 2},
		{"the claim, for minutes", idempotent.Config{}, silent{creates: true}, false, 15 * time.Minute, 2},
		{"the claim, with little time", idempotent.Config{}, silent{creates: true}, false, 1100 * time.Millisecond, 2},
		{"the claim and its release", idempotent.Config{}, silent{creates: true, rest: true}, false, 3 * time.Second, 2},
		{"the claim and its release, with little time", idempotent.Config{}, silent{creates: true, rest: true}, false, 1100 * time.Millisecond, 2},
		{"the claim and its release, with another Reserve", idempotent.Config{Reserve: 10 * time.Second}, silent{creates: true, rest: true}, false, 30 * time.Second, 2},
		{"the claim, with a lease", idempotent.Config{Lease: time.Hour}, silent{creates: true, rest: true}, false, 10 * time.Second, 2},
		{"the takeover", idempotent.Config{}, silent{takeovers: true}, true, 6 * time.Second, 3},
		{"the takeover and its release", idempotent.Config{}, silent{takeovers: true, rest: true}, true, 6 * time.Second, 3},
		{"everything, from the read on", idempotent.Config{ReadFirst: true}, silent{gets: true, creates: true, rest: true}, false, 10 * time.Second, 3},
	} {
		bubble(t, c.name, func(t *testing.T) {
			store := memory.New(0)
			if c.lapsed {
				store = abandoned(t)
			}
			reserve := c.config.Reserve
			if reserve == 0 {
				reserve = 500 * time.Millisecond
			}
			begun := time.Now()
			r := try(during(t, c.invocation), t, newExecutor(t, c.store.over(store), &c.config), mustNotRun(t)).is(driver.ErrUnavailable).is(context.DeadlineExceeded).ended(idempotent.OutcomeFailed).attempt(0).roundTrips(c.trips)
			took(t, begun, 0, c.invocation-reserve)
			failed := check.As[*idempotent.StoreError](t, r.err)
			check.False(t, failed.Executed)
		})
	}
}

// With less time than a release needs, the call still returns before its
// invocation ends.
func TestHungClaimWithAlmostNoTimeEndsBeforeItsInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, left := range []time.Duration{-380 * time.Millisecond, -250 * time.Millisecond, time.Millisecond, 20 * time.Millisecond, 150 * time.Millisecond, 399 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			for name, config := range map[string]*idempotent.Config{"": nil, "read first": {ReadFirst: true}} {
				invocation := 500*time.Millisecond + left
				begun := time.Now()
				x := newExecutor(t, silent{creates: true, gets: true, rest: true}.over(memory.New(0)), config)
				_, _, err := do(during(t, invocation), x, mustNotRun(t))
				took(t, begun, 0, invocation-100*time.Millisecond, name, left)
				check.Is(t, err, idempotent.ErrStore, name, left)
			}
		})
	}
}

// What a claim that was cut off has left is removed, and does not count as an
// attempt.
func TestHungClaimThatLandedIsReleased(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for _, c := range []struct {
		name  string
		store silent
		want  string
	}{
		{"the claim", silent{landed: true, creates: true}, "no record"},
		{"the takeover", silent{landed: true, takeovers: true}, "released, attempt 2, refunds 1"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			store := memory.New(0)
			if c.store.takeovers {
				store = abandoned(t)
			}
			config := &idempotent.Config{MaxAttempts: 2}
			r := try(during(t, 3*time.Second), t, newExecutor(t, c.store.over(store), config), mustNotRun(t)).is(idempotent.ErrStore)
			check.Equal(t, r.event.Lapsed, c.store.takeovers, "the next call meets a released record")
			recordIs(t, store, c.want)
			try(t.Context(), t, newExecutor(t, store, config), returns("done")).returned("done")
		})
	}
}

// Another call has the record by the time that the claim is given up.
func TestHungClaimLeavesTheRecordOfAnother(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := memory.New(0)
		time.AfterFunc(time.Second, func() { abandonClaim(t, store, time.Minute) })
		try(during(t, 3*time.Second), t, newExecutor(t, silent{creates: true}.over(store), nil), mustNotRun(t)).is(idempotent.ErrStore)
		recordIs(t, store, "in progress by crashed")
		check.True(t, stored(t, store).Lease.After(time.Now()))
	})
}

// Nothing waits for a process that has outlived its invocation, so that the
// release has its time.
func TestClaimAnsweredAfterItsInvocationIsReleased(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := memory.New(0)
		frozen := hooked(store, func(w write) (driver.Record, bool, error) {
			if isCreate(w) {
				return delayed(3100 * time.Millisecond)(w)
			}
			if err := w.ctx.Err(); err != nil {
				return driver.Record{}, false, err
			}
			return w.send()
		})
		try(during(t, 3*time.Second), t, newExecutor(t, frozen, nil), mustNotRun(t)).is(idempotent.ErrStore)
		check.Equal(t, stored(t, store).Status, driver.Absent)
	})
}

// An execution's claim is that of its other invocations, so that it stays.
func TestHungClaimOfAnExecutionEndsBeforeItsInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for name, silent := range map[string]silent{
		"the claim":     {landed: true, creates: true},
		"the extension": {rest: true},
	} {
		bubble(t, name, func(t *testing.T) {
			inner := memory.New(0)
			execution := adapter.Execution{ID: []string{"arn"}, Until: time.Now().Add(time.Minute), Decide: func(error) idempotent.Outcome { return idempotent.OutcomeSuspended }}
			invoke := func(store driver.Store, timeout time.Duration) (*idempotent.Event, error) {
				_, event, err := do(adapter.With(during(t, timeout), adapter.Durable(execution)), newExecutor(t, store, nil), func(context.Context) (string, error) {
					check.Equal(t, store, driver.Store(inner), "it ran")
					return "", nil
				})
				return event, err
			}
			if name == "the extension" {
				if event, err := invoke(inner, time.Second); err != nil || event.Outcome != idempotent.OutcomeSuspended {
					t.Fatalf("%v, %+v", err, event)
				}
			}
			const timeout = 2 * time.Minute // longer than the execution
			begun := time.Now()
			event, err := invoke(silent.over(inner), timeout)
			took(t, begun, 0, timeout-500*time.Millisecond)
			check.Is(t, err, driver.ErrUnavailable)
			check.Equal(t, event.Outcome, idempotent.OutcomeFailed)
			recordIs(t, inner, "in progress")
		})
	}
}

// A call within a handler does not use up the Reserve of the outer one.
func TestHungClaimWithinAHandlerEndsBeforeTheHandler(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		inner := newExecutor(t, silent{creates: true, rest: true}.over(memory.New(0)), &idempotent.Config{Reserve: 50 * time.Millisecond})
		ctx := during(t, 3*time.Second)
		begun := time.Now()
		try(ctx, t, newExecutor(t, memory.New(0), &idempotent.Config{Reserve: time.Second}), func(ctx context.Context) (string, error) {
			_, _, err := do(ctx, inner, mustNotRun(t))
			took(t, begun, 0, 2*time.Second)
			return "", err
		}).is(idempotent.ErrStore).ended(idempotent.OutcomeTimedOut) // it had all of the handler's time
	})
}

// Elsewhere nothing ends with the caller's deadline but the call.
func TestClaimElsewhereIsBoundedByItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := during(t, 4*time.Second)
		until, _ := ctx.Deadline()
		x := newExecutor(t, hooked(memory.New(0), on(isCreate, func(w write) (driver.Record, bool, error) {
			deadline, ok := w.ctx.Deadline()
			check.True(t, ok)
			check.Time(t, deadline, until)
			time.Sleep(time.Until(until) - time.Millisecond)
			return w.send()
		})), nil)
		try(ctx, t, x, returns("done")).returned("done")
		without := newExecutor(t, hooked(memory.New(0), on(isCreate, func(w write) (driver.Record, bool, error) {
			_, ok := w.ctx.Deadline()
			check.False(t, ok)
			return w.send()
		})), nil)
		try(t.Context(), t, without, returns("done")).succeeded()
	})
}

// What follows a claim has until shortly before the end of the invocation, as
// the work may be done.
func TestHungWriteOfARunEndsBeforeItsInvocation(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for name, handler := range map[string]func(context.Context) (string, error){
		"the completion": returns("done"),
		"the failure":    failsWith(idempotent.Permanent(errCrash)),
		"the release":    failsWith(errCrash),
		"a step": func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", returns("charged"))
		},
		"a step whose error is ignored": func(ctx context.Context) (string, error) {
			_, _ = idempotent.Step(ctx, "charge", returns("charged"))
			return "done", nil
		},
	} {
		for _, invocation := range []time.Duration{time.Second, 3 * time.Second, 30 * time.Second} {
			for kind, answer := range map[string]hook{"hung": hangs, "denied": notSent(errors.New("AccessDeniedException"))} {
				bubble(t, name+", "+kind, func(t *testing.T) {
					begun := time.Now()
					r := try(during(t, invocation), t, newExecutor(t, hooked(memory.New(0), on(isChange, answer)), nil), handler).failed().ended(idempotent.OutcomeUnknown)
					took(t, begun, 0, invocation-50*time.Millisecond)
					check.True(t, r.event.ErrorIs(idempotent.ErrStore))
					// A completion has the time that it always had.
					if name == "the completion" && kind == "hung" {
						took(t, begun, invocation-100*time.Millisecond, invocation-100*time.Millisecond)
					}
				})
			}
		}
	}
}
