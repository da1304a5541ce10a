package idempotent_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// charging is a handler of one step and an error after it, so that the step
// stays in the record for the next attempt.
func charging(charged *int, value string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		receipt, err := idempotent.Step(ctx, "charge", func(context.Context) (string, error) {
			*charged++
			return value, nil
		})
		if err != nil || *charged == 1 {
			*charged++ // the second attempt continues
			return "", errors.Join(errors.New("try again"), err)
		}
		return receipt, nil
	}
}

func TestStepsAreSealedAndSpilled(t *testing.T) {
	for name, result := range map[string]string{"sealed": "a secret", "sealed and spilled": large} {
		store, payloads, charged := memory.New(0), newShelf(), 0
		config := sealing()
		config.Payloads = payloads
		try(t.Context(), t, newExecutor(t, store, config), charging(&charged, result)).failed()
		kept := stored(t, store).Steps["charge"]
		check.Differ(t, len(kept), 0, name)
		check.False(t, bytes.Contains(kept, []byte("secret")), name)
		check.Equal(t, kept[0] == '@', result == large, name)
		check.Equal(t, payloads.puts == 1, result == large, name)
		value, _, err := do(t.Context(), newExecutor(t, store, config), charging(&charged, "again"))
		check.Equal(t, value, result, name)
		check.Nil(t, err, name)
		check.Equal(t, charged, 2, name)
	}
}

// The stored form of another step, or one that was not sealed, is not taken for
// this step's result. The step is not repeated.
func TestPlantedStepsAreRefused(t *testing.T) {
	for name, plant := range map[string]func(sealed []byte) []byte{
		"plain": func([]byte) []byte { return []byte(`="planted"`) },
		"of another step": func(sealed []byte) []byte {
			return bytes.Replace(sealed, []byte("step:charge"), []byte("step:refund"), 1)
		},
	} {
		store, charged := memory.New(0), 0
		try(t.Context(), t, newExecutor(t, store, sealing()), charging(&charged, "receipt")).failed()
		r := stored(t, store)
		r.Steps["charge"] = plant(r.Steps["charge"])
		check.Must(t, store.Put(r))
		_, _, err := do(t.Context(), newExecutor(t, store, sealing()), func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", mustNotRun(t))
		})
		check.Is(t, err, idempotent.ErrResultUnavailable, name)
		check.Is(t, err, errForged, name)
	}
}

// A finished step is recorded as done within the handler's time, however long
// the payload store hangs.
func TestStepThatCannotBeStoredIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
		store, payloads := memory.New(0), newShelf()
		payloads.put = func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		ctx := during(t, 10*time.Second)
		try(ctx, t, newExecutor(t, store, spilling(payloads)), func(ctx context.Context) (string, error) {
			receipt, err := idempotent.Step(ctx, "charge", returns(large))
			kept := stored(t, store).Steps["charge"]
			check.True(t, strings.HasPrefix(string(kept), "!"))
			check.Nil(t, ctx.Err())
			return receipt[:5], err
		}).returned("large").observed(context.DeadlineExceeded)
	})
}

// A step that is done does not mean that the work is.
func TestStepThatCannotBeOpenedIsNamed(t *testing.T) {
	store, charged := memory.New(0), 0
	try(t.Context(), t, newExecutor(t, store, sealing()), charging(&charged, "receipt")).failed()
	_, _, err := do(t.Context(), newExecutor(t, store, nil), charging(&charged, "again"))
	unavailable := check.As[*idempotent.ResultUnavailableError](t, err)
	check.Equal(t, unavailable.Step, "charge")
	check.Contains(t, unavailable.Reason, "Config.Sealer")
}

// Steps share the record's size. A small step that does not fit beside the
// others is spilled.
func TestStepThatDoesNotFitIsSpilled(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	full := hooked(store, fails(func(w write) bool { return len(w.change.Steps["charge"]) > 100 }, driver.ErrTooLarge))
	config, result := &idempotent.Config{Payloads: payloads}, strings.Repeat("r", 200)
	charged := 0
	try(t.Context(), t, newExecutor(t, full, config), charging(&charged, result)).failed()
	check.True(t, strings.HasPrefix(string(stored(t, store).Steps["charge"]), "@"))
	try(t.Context(), t, newExecutor(t, full, config), charging(&charged, "again")).returned(result)
}

// failing is a Sealer that cannot seal for some slots.
type failing struct {
	backwards
	slot string
}

func (f *failing) Seal(ctx context.Context, p driver.Place, data []byte) ([]byte, error) {
	if p.Slot == f.slot {
		return nil, idempotent.Permanent(errNetwork)
	}
	return f.backwards.Seal(ctx, p, data)
}

// The failure is stored, readably, before the first undo, so that a later
// attempt continues to undo.
func TestFailureIsStoredBeforeTheFirstUndo(t *testing.T) {
	store, sealer := memory.New(0), &failing{slot: "step::failure"}
	x := newExecutor(t, store, &idempotent.Config{Sealer: sealer})
	tr := &trip{fails: map[string]error{"car": soldOut()}}
	_, _, err := do(t.Context(), x, tr.book)
	check.Is(t, err, idempotent.ErrCompensation)
	check.Is(t, err, errNetwork)
	checkDone(t, tr, "flight", "hotel", "car")
	_, ok := stored(t, store).Steps[":failure"]
	check.False(t, ok, "what cannot be read is kept")
	sealer.slot = ""
	_, _, err = do(t.Context(), x, tr.book)
	_, ok = err.(*soldOutError)
	check.True(t, ok, "the retry")
	checkDone(t, tr, "car", "not a hotel", "not a flight")
}

// The deadline of a step's context does not apply to storing its result.
func TestStepIsStoredAfterItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, payloads := memory.New(0), newShelf()
		payloads.put = takes(time.Second)
		_, _, _ = do(t.Context(), newExecutor(t, store, spilling(payloads)), func(ctx context.Context) (string, error) {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := idempotent.Step(short, "charge", func(context.Context) (string, error) {
				time.Sleep(900 * time.Millisecond)
				return large, nil
			})
			return "", errors.Join(errors.New("try again"), err)
		})
		check.True(t, strings.HasPrefix(string(stored(t, store).Steps["charge"]), "@"))
	})
}
