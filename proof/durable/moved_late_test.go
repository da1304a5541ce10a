package durable_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/durable"
)

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
				for _, delivery := range []string{"first", "second"} {
					if status, result := w.deliver(delivery); status != "FAILED" || result != "StepsLeftError" {
						w.Errorf("%s, %s", status, result)
					}
				}
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
