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

// thaws runs a frozen attempt, and what happens while it rests.
type thaws struct {
	store *memory.Store
	// undone are the steps that were undone, in their order.
	undone []string
}

func newThaws() *thaws { return &thaws{store: memory.New(0)} }

func (th *thaws) step(ctx context.Context, name string, refused error) error {
	_, err := idempotent.SagaStep(ctx, name, returns(name), func(context.Context, string) error {
		if refused == nil {
			th.undone = append(th.undone, name)
		}
		return refused
	})
	return err
}

// attempt is a whole call by another process.
func (th *thaws) attempt(t *testing.T, fn func(context.Context) (string, error)) error {
	t.Helper()
	time.Sleep(time.Minute)
	_, _, err := do(context.Background(), newExecutor(t, th.store, &idempotent.Config{Lease: 10 * time.Second}), fn)
	return err
}

// frozen is a call whose handler calls others, and whose heartbeats are lost.
func (th *thaws) frozen(t *testing.T, fn func(context.Context) (string, error)) (*idempotent.Event, error) {
	t.Helper()
	_, event, err := do(context.Background(), newExecutor(t, frozen(th.store), &idempotent.Config{Lease: 10 * time.Second}), fn)
	return event, err
}

// The successor has undone the second step, and could not undo the first.
func TestFrozenAttemptDoesNotFinishAHalfUndoneSaga(t *testing.T) {
	for name, end := range map[string]error{"success": nil, "failure": soldOut()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newThaws()
				saga := func(refused, end error, meanwhile func()) func(context.Context) (string, error) {
					return func(ctx context.Context) (string, error) {
						if err := errors.Join(th.step(ctx, "a", refused), th.step(ctx, "b", nil)); err != nil {
							return "", err
						}
						meanwhile()
						return "booked", end
					}
				}
				event, err := th.frozen(t, saga(nil, end, func() {
					err := th.attempt(t, saga(errors.New("not now"), soldOut(), func() {}))
					check.Is(t, err, idempotent.ErrCompensation, "the successor")
				}))
				if end == nil && (!errors.Is(err, idempotent.ErrLeaseLost) || event.Outcome != idempotent.OutcomeLeaseLost) {
					t.Errorf("the frozen attempt got %v, %s", err, event.Outcome)
				}
				check.Failed(t, th.attempt(t, saga(nil, soldOut(), func() {})), "a later call succeeds")
				check.Equal(t, stored(t, th.store).Status, driver.Failed)
				undone := map[string]bool{}
				for _, name := range th.undone {
					undone[name] = true
				}
				if !undone["a"] || !undone["b"] {
					t.Errorf("undone: %q", th.undone)
				}
			})
		})
	}
}

// The successor has finished a step that the frozen attempt has not reached.
func TestFrozenAttemptKeepsItsSuccessorsSteps(t *testing.T) {
	for name, end := range map[string]error{"success": nil, "failure": soldOut()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newThaws()
				event, err := th.frozen(t, func(ctx context.Context) (string, error) {
					err := th.attempt(t, func(ctx context.Context) (string, error) {
						return "", errors.Join(th.step(ctx, "a", nil), errors.New("try again"))
					})
					check.Failed(t, err, "the successor succeeds")
					return "done", end
				})
				check.Is(t, err, idempotent.ErrLeaseLost)
				check.Equal(t, event.Outcome, idempotent.OutcomeLeaseLost)
				r := stored(t, th.store)
				check.Equal(t, r.Status, driver.InProgress, "the successor's step is gone")
				check.Differ(t, len(r.Steps["a"]), 0)
			})
		})
	}
}

// A record that contains this attempt's own steps alone is completed, and the
// work is not repeated.
func TestFrozenAttemptFinishesARecordOfItsOwnSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThaws()
		event, err := th.frozen(t, func(ctx context.Context) (string, error) {
			if err := th.step(ctx, "a", nil); err != nil {
				return "", err
			}
			check.Failed(t, th.attempt(t, failsWith(errors.New("try again"))), "the successor succeeds")
			return "done", nil
		})
		r := stored(t, th.store)
		check.Nil(t, err)
		check.Equal(t, event.Outcome, idempotent.OutcomeExecuted)
		check.Equal(t, r.Status, driver.Completed)
	})
}

// The takeover landed, and its answer was lost.
func TestFailedOpenCallDoesNotFinishAHalfUndoneSaga(t *testing.T) {
	store := memory.New(0)
	charged, refuse, succeed := 0, 1, false
	run := func(ctx context.Context) (string, error) {
		for _, name := range []string{"a", "b"} {
			if _, err := idempotent.SagaStep(ctx, name, func(context.Context) (string, error) { charged++; return name, nil }, func(_ context.Context, n string) error {
				if n == "a" && refuse > 0 {
					refuse--
					return errors.New("not now")
				}
				charged--
				return nil
			}); err != nil {
				return "", err
			}
		}
		if succeed {
			return "done", nil
		}
		return "", soldOut()
	}
	config := &idempotent.Config{OnStoreError: idempotent.FailOpen}
	for _, fails := range []bool{true, false} {
		succeed = !fails
		p := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			r, ok, err := next()
			if !fails && c.Owner != "" && c.Status == "" {
				return driver.Record{}, false, errNetwork
			}
			return r, ok, err
		}}
		try(t.Context(), t, newExecutor(t, p, config), run).failed()
	}
	try(t.Context(), t, newExecutor(t, store, config), run).is(idempotent.ErrReplayed)
	r := stored(t, store)
	check.Equal(t, charged, 0)
	check.Equal(t, r.Status, driver.Failed)
}
