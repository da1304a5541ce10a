package durable_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/proof/durable"
)

// plainly makes an attempt of the operation as a function that is not durable, and
// reports whether it returned.
func (w *world) plainly(fn func(context.Context) (string, error)) (returned bool, err error) {
	defer func() { returned = recover() == nil }()
	_, err = idempotent.Do(w.Context(), w.executor("pay"), idempotent.Key{ID: "o-1", Payload: 4200}, fn)
	return true, err
}

// leavings are attempts that leave finished steps. While crashes is true, they do
// not come to their end.
var leavings = map[string]func(w *world, crashes *bool) func(context.Context) (string, error){
	"a step": func(w *world, crashes *bool) func(context.Context) (string, error) {
		return crashing(crashes, func(ctx context.Context) (string, error) { return idempotent.Step(ctx, "charge", w.chargesCard) })
	},
	"a step that can be undone": func(w *world, crashes *bool) func(context.Context) (string, error) {
		return crashing(crashes, func(ctx context.Context) (string, error) {
			return idempotent.SagaStep(ctx, "charge", w.chargesCard, func(context.Context, string) error { return nil })
		})
	},
	"a step that is being undone": func(w *world, crashes *bool) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			_, err := idempotent.SagaStep(ctx, "charge", w.chargesCard, func(context.Context, string) error {
				if *crashes {
					return errors.New("the bank is away")
				}
				return nil
			})
			if err != nil {
				return "", err
			}
			return "", idempotent.Permanent(errDeclined)
		}
	},
}

// crashing returns a function that does not come to its end while crashes is true.
func crashing(crashes *bool, fn func(context.Context) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		receipt, err := fn(ctx)
		if *crashes {
			panic("out of memory")
		}
		return receipt, err
	}
}

func (w *world) chargesCard(ctx context.Context) (string, error) {
	return w.bank.charge(ctx, "card"), nil
}

// A durable function has no such steps: it would charge again, under a different
// downstream key, and could undo nothing.
func TestDurableFunctionRefusesTheStepsOfOneThatWasNot(t *testing.T) {
	for name, leaves := range leavings {
		t.Run(name, func(t *testing.T) {
			everyStore(t, func(w *world) {
				crashes := true
				attempt := leaves(w, &crashes)
				_, _ = w.plainly(attempt)
				left := w.paid()
				if left.Status != driver.InProgress || len(left.Steps) == 0 {
					w.Fatalf("it left %+v", left)
				}
				w.deploy(func(*durable.Context, order) (string, error) { w.Error("it ran"); return "", nil })
				w.wantFailure("first", "StepsLeftError")
				w.wantFailure("second", "StepsLeftError")
				check.Deep(w, w.paid(), left, "the record")
				crashes = false
				returned, err := w.plainly(attempt)
				if r := w.paid(); !returned || r.Status == driver.InProgress {
					w.Errorf("the attempt that goes on returned %v, and left %s", err, r.Status)
				}
				w.wantEffects(1)
				want := "ResultUnavailableError"
				if err != nil {
					want = "errorString"
				}
				w.wantFailure("third", want)
			})
		})
	}
}

// It has no finished step, so nothing is known to be done.
func TestDurableFunctionTakesOverFromOneThatWasNot(t *testing.T) {
	everyStore(t, func(w *world) {
		var key string
		if returned, _ := w.plainly(func(ctx context.Context) (string, error) {
			key = idempotent.DownstreamKey(ctx, "charge")
			panic("out of memory")
		}); returned {
			w.Fatal("it returned")
		}
		w.deploy(w.pay)
		w.wantSuccess(w.deliver("first"))
		w.wantEffects(1)
		check.Equal(w, w.bank.charges[key], 1, "its downstream key is another one")
	})
}

// The function of its call has steps, be it called in a durable step or not.
func TestCallInADurableStepContinuesTheStepsOfAnEarlierAttempt(t *testing.T) {
	everyStore(t, func(w *world) {
		crashes := true
		attempt := leavings["a step"](w, &crashes)
		handler := w.charging(named("charge"), attempt)
		func() {
			defer func() { _ = recover() }()
			_, _ = idempotent.Do(w.Context(), w.executor("charge"), cardKey, attempt)
		}()
		crashes = false
		w.deploy(handler)
		w.wantSuccess(w.deliver("first"))
		w.wantEffects(1)
	})
}

// changes is a store whose changes a test controls.
type changes struct {
	driver.Store
	change func(context.Context, driver.Fence, driver.Change) (driver.Record, bool, error)
}

func (s *changes) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return s.change(ctx, f, c)
}

// An attempt that was not durable has charged, and is frozen before its step is
// stored. The step arrives when the durable function has seen the record without it.
func TestDurableFunctionRefusesAStepThatArrivesWhileItTakesOver(t *testing.T) {
	for name, c := range map[string]struct{ notSent, answerLost []int }{
		"nothing is lost":                    {},
		"the answer to the takeover is lost": {answerLost: []int{1}},
		"releases are not sent":              {notSent: []int{2, 3, 4}},
		"the answer to the release is lost":  {answerLost: []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				attempt := func(ctx context.Context) (string, error) {
					return idempotent.Step(ctx, "charge", w.chargesCard)
				}
				memory := w.store.Store
				var step func()
				w.store.Store = &changes{memory, func(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
					if c.Steps != nil {
						step = func() {
							if _, ok, err := memory.Change(w.Context(), f, c); !ok {
								w.Errorf("the step was not stored: %v", err)
							}
						}
					}
					<-ctx.Done()
					return driver.Record{}, false, errNetwork
				}}
				ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
				defer cancel()
				_, _ = idempotent.Do(ctx, w.executor("pay"), idempotent.Key{ID: "o-1", Payload: 4200}, attempt)
				time.Sleep(2 * time.Minute) // its lease lapses

				sent := 0
				w.store.Store = &changes{memory, func(ctx context.Context, f driver.Fence, change driver.Change) (driver.Record, bool, error) {
					if sent++; sent == 1 {
						step()
					}
					if slices.Contains(c.notSent, sent) {
						return driver.Record{}, false, errNetwork
					}
					r, ok, err := memory.Change(ctx, f, change)
					if slices.Contains(c.answerLost, sent) {
						return driver.Record{}, false, errNetwork
					}
					return r, ok, err
				}}
				w.deploy(func(*durable.Context, order) (string, error) { w.Error("it ran"); return "", nil })
				w.wantFailure("first", "StepsLeftError")
				w.wantFailure("second", "StepsLeftError")
				w.store.Store = memory
				if left := w.paid(); left.Owner != "" || !left.Lease.Equal(driver.LeaseEnded) || left.Used() != 1 || len(left.Steps) != 1 {
					w.Errorf("it left %+v", left)
				}
				if returned, err := w.plainly(attempt); !returned || err != nil {
					w.Errorf("the next attempt: %v, %v", returned, err)
				}
				w.wantEffects(1)
			})
		})
	}
}
