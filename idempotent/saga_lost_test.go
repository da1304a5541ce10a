package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// What is here must not pass for undone: each is a charge that nobody gives
// back.

func notStepping(store driver.Store, err error) *proxy {
	return &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if len(c.Steps) > 0 {
			return driver.Record{}, false, err
		}
		return next()
	}}
}

// It may be recorded or not, and was done.
func TestSagaKeepsAStepWhoseWriteIsNotKnown(t *testing.T) {
	store := memory.New(0)
	ctx, cancel := context.WithCancel(t.Context())
	_, event, err := do(ctx, newExecutor(t, notStepping(store, errNetwork), nil), func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (string, error) { cancel(); return "x", nil },
			func(context.Context, string) error { return nil })
		return "", idempotent.Permanent(errors.Join(&soldOutError{}, err))
	})
	var unheard *idempotent.StoreError
	var cause *soldOutError
	if !errors.As(err, &unheard) || !unheard.Executed || !errors.As(err, &cause) || event.Outcome != idempotent.OutcomeUnknown {
		t.Errorf("%v, %v", err, event.Outcome)
	}
	if r := stored(t, store); r.Status != driver.InProgress || r.Owner == "" {
		t.Errorf("not kept: %+v", r)
	}
}

// No later attempt could undo it: this one can, with the result in its memory.
func TestSagaIsUndoneAtOnceWhereAResultCannotBeKept(t *testing.T) {
	for name, end := range map[string]func(error) error{
		"returned": func(err error) error { return fmt.Errorf("charge: %w", err) },
		"ignored":  func(error) error { return nil },
		"released": func(error) error { return errCrash },
	} {
		t.Run(name, func(t *testing.T) {
			store, undone := memory.New(0), 0
			x := newExecutor(t, store, nil)
			_, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
				_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (func(), error) { return func() {}, nil },
					func(_ context.Context, result func()) error {
						if undone++; result == nil {
							t.Error("undone with nothing")
						}
						return nil
					})
				if !errors.Is(err, idempotent.ErrResultUnavailable) {
					t.Errorf("the step: %v", err)
				}
				if _, later := idempotent.Step(ctx, "mail", mustNotRun(t)); !errors.Is(later, idempotent.ErrResultUnavailable) {
					t.Errorf("the next step: %v", later)
				}
				return "", end(err)
			})
			var lost *idempotent.ResultUnavailableError
			if !errors.As(err, &lost) || lost.Step != "charge" || undone != 1 || event.Outcome != idempotent.OutcomeFailed || !event.Permanent {
				t.Errorf("undone %d times: %v, %+v", undone, err, event)
			}
			_, _, err = do(t.Context(), x, mustNotRun(t))
			var replayed *idempotent.ReplayedError
			if !errors.As(err, &replayed) || !slices.Equal(replayed.Compensated, []string{"charge"}) {
				t.Errorf("%#v", err)
			}
		})
	}
}

// Its process ended before that: nothing is left to undo the step with.
func TestSagaDoesNotPassOverAStepWithoutResult(t *testing.T) {
	store := memory.New(0)
	err := store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Attempt: 1, Lease: driver.LeaseEnded,
		Steps: map[string][]byte{"charge": []byte("~!it was too large")}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", mustNotRun(t), func(context.Context, string) error { t.Error("undone with nothing"); return nil })
		return "", idempotent.Permanent(err)
	})
	if r := stored(t, store); !errors.Is(err, idempotent.ErrCompensation) || r.Status != driver.InProgress {
		t.Errorf("%v, %s", err, r.Status)
	}
}

func TestSagaRefusesStepsWithinSteps(t *testing.T) {
	inner := func(ctx context.Context) (string, error) {
		return idempotent.SagaStep(ctx, "inner", mustNotRun(t), func(context.Context, string) error { return nil })
	}
	_, _, err := do(t.Context(), newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
		return idempotent.Step(ctx, "outer", inner)
	})
	if !errors.Is(err, idempotent.ErrStep) {
		t.Errorf("%v", err)
	}
}

// A record without room even for the marker: the step is done, so its key is
// not released.
func TestStepWithoutRoomKeepsTheClaim(t *testing.T) {
	x := newExecutor(t, notStepping(memory.New(0), fmt.Errorf("full: %w", driver.ErrTooLarge)), nil)
	charges := 0
	for i, want := range []error{idempotent.ErrStore, idempotent.ErrInProgress} {
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", charge(&charges, nil))
		})
		if !errors.Is(err, want) {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	if charges != 1 {
		t.Errorf("charged %d times", charges)
	}
}

// A mark in the error of an undo is not for a call around this one: that would
// store a failure for good, and nobody would go on undoing.
func TestSagaKeepsMarksOfItsUndosToItself(t *testing.T) {
	for _, disabled := range []string{"", "true"} {
		t.Setenv("ONCE_DISABLED", "")
		outer := newExecutor(t, memory.New(0), nil)
		t.Setenv("ONCE_DISABLED", disabled)
		x := newExecutor(t, memory.New(0), nil)
		ctx, event := adapter.WithEvent(t.Context())
		_, err := idempotent.Do(ctx, outer, idempotent.Key{ID: "outer"}, func(ctx context.Context) (string, error) {
			value, _, err := do(ctx, x, func(ctx context.Context) (string, error) {
				_, err := idempotent.SagaStep(ctx, "charge", returns("x"),
					func(context.Context, string) error { return idempotent.Permanent(errCrash) })
				if err != nil {
					return "", err
				}
				return "", soldOut()
			})
			return value, err
		})
		if !errors.Is(err, idempotent.ErrCompensation) || event.Outcome != idempotent.OutcomeReleased {
			t.Errorf("disabled %q: %v, %v", disabled, err, event.Outcome)
		}
	}
}

// As in every other run: otherwise two undos of a bypassed call would ask for
// one refund.
func TestSagaUndosHaveTheirKeysInEveryRun(t *testing.T) {
	keys := func() (keys [2]string) {
		n := 0
		undo := func(ctx context.Context, _ string) error {
			keys[n] = idempotent.DownstreamKey(ctx, "refund")
			n++
			return nil
		}
		_, _, err := do(t.Context(), newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
			for _, name := range []string{"a", "b"} {
				if _, err := idempotent.SagaStep(ctx, name, returns("x"), undo); err != nil {
					return "", err
				}
			}
			return "", soldOut()
		})
		if err == nil {
			t.Error("no error")
		}
		return keys
	}
	protected := keys()
	t.Setenv("ONCE_DISABLED", "true")
	if bypassed := keys(); bypassed != protected || bypassed[0] == bypassed[1] {
		t.Errorf("%q, and bypassed %q", protected, bypassed)
	}
}

// The caller hears why the call failed, also when there is no time to undo.
func TestSagaThatCannotBeginToUndoTellsWhy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := do(ctx, newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
		if _, err := idempotent.SagaStep(ctx, "charge", returns("x"), func(context.Context, string) error { return nil }); err != nil {
			return "", err
		}
		cancel()
		return "", soldOut()
	})
	var unfinished *idempotent.CompensationError
	if !errors.As(err, &unfinished) || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if _, ok := unfinished.Cause.(*soldOutError); !ok || errors.Is(err, unfinished.Cause) {
		t.Errorf("caused by %v, which is final, and this is not", unfinished.Cause)
	}
}

// A handler should wait for its steps. One that does not leaves its key
// claimed: whether the step is done is for the next attempt to see.
func TestStepThatStillRunsKeepsTheClaim(t *testing.T) {
	for _, fail := range []error{errCrash, soldOut()} {
		store := memory.New(0)
		begun, goOn, ended := make(chan bool), make(chan bool), make(chan error)
		_, event, err := do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
			go func() {
				_, err := idempotent.SagaStep(ctx, "charge", func(context.Context) (string, error) {
					close(begun)
					<-goOn
					return "", nil
				}, func(context.Context, string) error { return nil })
				ended <- err
			}()
			<-begun
			return "", fail
		})
		close(goOn)
		if late := <-ended; late != nil {
			t.Error(late)
		}
		var unheard *idempotent.StoreError
		if r := stored(t, store); !errors.As(err, &unheard) || event.Outcome != idempotent.OutcomeUnknown || len(r.Steps) != 1 || r.Owner == "" {
			t.Errorf("%v, %v, %+v", err, event.Outcome, r)
		}
	}
}
