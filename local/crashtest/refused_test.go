package crashtest_test

import (
	"context"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/crashtest"
)

func TestHandlerBesideItsStoreHasNoPoints(t *testing.T) {
	trial := paying(idempotent.Config{}, func(_ context.Context, c *cards) error {
		c.charges["one"]++
		return nil
	})
	r := crashtest.PlayHandler(t, with(trial, func(one *crashtest.Trial) {
		deliver, own := one.Deliver, memory.New(0)
		one.Deliver = func(ctx context.Context, _ driver.Store) error { return deliver(ctx, own) }
	}))
	err := r.Err()
	check.As[*crashtest.SetupError](t, err)
	check.Says(t, err, "no point")
}

// Without a crash, a duplicate is enough.
func TestUnprotectedHandlerIsBrokenUndisturbed(t *testing.T) {
	r := crashtest.PlayHandler(t, func() crashtest.Trial {
		c := &cards{charges: map[string]int{}}
		return crashtest.Trial{
			Deliver: func(ctx context.Context, _ driver.Store) error { return anew(ctx, c) },
			Check:   func() error { return c.charged(1) },
		}
	})
	if err := r.Err(); err == nil || err.Error() != "crashtest: the invariant is broken without a crash: charged 2 times" || len(r.Results) != 1 {
		t.Errorf("%v", err)
	}
}

func TestDuplicateWithAnotherAnswerIsReported(t *testing.T) {
	for _, final := range []error{idempotent.ErrKeyReused, idempotent.ErrKeyExpired} {
		r := crashtest.PlayHandler(t, func() crashtest.Trial {
			n := 0
			return crashtest.Trial{
				Deliver: func(context.Context, driver.Store) error {
					if n++; n > 1 {
						return final
					}
					return nil
				},
				Check: func() error { return nil },
			}
		})
		check.Says(t, r.Err(), "first answered ok, and a duplicate "+final.Error())
	}
}

func TestTrialWithoutACheckIsRefused(t *testing.T) {
	r := crashtest.PlayHandler(t, func() crashtest.Trial {
		return crashtest.Trial{Deliver: func(context.Context, driver.Store) error { return nil }}
	})
	err := r.Err()
	check.As[*crashtest.SetupError](t, err)
	check.Says(t, err, "required")
}

func TestEffectElsewhereDoesNothing(t *testing.T) {
	crashtest.Effect(t.Context(), "charge")
}
