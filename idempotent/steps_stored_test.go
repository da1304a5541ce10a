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
	for name, above := range map[string]int{"sealed": 1 << 20, "sealed and spilled": 10} {
		store, payloads, charged := memory.New(0), newShelf(), 0
		config := sealing()
		config.Payloads, config.PayloadAbove = payloads, above
		if _, _, err := do(t.Context(), newExecutor(t, store, config), charging(&charged, "a secret")); err == nil {
			t.Fatal("no error")
		}
		kept := stored(t, store).Steps["charge"]
		if len(kept) == 0 || bytes.Contains(kept, []byte("secret")) || (kept[0] == '@') != (above == 10) || (payloads.puts == 1) != (above == 10) {
			t.Errorf("%s: stored %q after %d puts", name, kept, payloads.puts)
		}
		if value, _, err := do(t.Context(), newExecutor(t, store, config), charging(&charged, "again")); value != "a secret" || err != nil || charged != 2 {
			t.Errorf("%s: the next attempt got %q, %v", name, value, err)
		}
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
		if _, _, err := do(t.Context(), newExecutor(t, store, sealing()), charging(&charged, "receipt")); err == nil {
			t.Fatal("no error")
		}
		r := stored(t, store)
		r.Steps["charge"] = plant(r.Steps["charge"])
		if err := store.Put(r); err != nil {
			t.Fatal(err)
		}
		_, _, err := do(t.Context(), newExecutor(t, store, sealing()), func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", mustNotRun(t))
		})
		if !errors.Is(err, idempotent.ErrResultUnavailable) || !errors.Is(err, errForged) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A finished step is stored although the client has gone.
func TestStepIsStoredAfterItsCallerHasGone(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	payloads.put = func(ctx context.Context) (string, error) { return "", ctx.Err() }
	ctx, cancel := context.WithCancel(t.Context())
	_, _, _ = do(ctx, newExecutor(t, store, spilling(payloads)), func(ctx context.Context) (string, error) {
		_, _ = idempotent.Step(ctx, "charge", func(context.Context) (string, error) {
			cancel()
			return large, nil
		})
		return "", errors.New("try again")
	})
	if kept := stored(t, store).Steps["charge"]; !strings.HasPrefix(string(kept), "@") {
		t.Errorf("stored %q", kept)
	}
}

// A finished step is recorded as done within the handler's time, however long
// the payload store hangs.
func TestStepThatCannotBeStoredIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
		store, payloads := memory.New(0), newShelf()
		payloads.put = func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		value, event, err := do(ctx, newExecutor(t, store, spilling(payloads)), func(ctx context.Context) (string, error) {
			receipt, err := idempotent.Step(ctx, "charge", returns(large))
			if kept := stored(t, store).Steps["charge"]; !strings.HasPrefix(string(kept), "!") || ctx.Err() != nil {
				t.Errorf("stored %q, %v", kept, ctx.Err())
			}
			return receipt[:5], err
		})
		if value != "large" || err != nil || !errors.Is(event.Err, context.DeadlineExceeded) {
			t.Errorf("got %.10q, %v, %v", value, err, event.Err)
		}
	})
}

// A step that is done does not mean that the work is.
func TestStepThatCannotBeOpenedIsNamed(t *testing.T) {
	store, charged := memory.New(0), 0
	if _, _, err := do(t.Context(), newExecutor(t, store, sealing()), charging(&charged, "receipt")); err == nil {
		t.Fatal("no error")
	}
	_, _, err := do(t.Context(), newExecutor(t, store, nil), charging(&charged, "again"))
	var unavailable *idempotent.ResultUnavailableError
	if !errors.As(err, &unavailable) || unavailable.Step != "charge" || !strings.Contains(unavailable.Reason, "Config.Sealer") {
		t.Errorf("got %v", err)
	}
}

// Steps share the record's size. A small step that does not fit beside the
// others is spilled.
func TestStepThatDoesNotFitIsSpilled(t *testing.T) {
	store, payloads := memory.New(0), newShelf()
	full := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if len(c.Steps["charge"]) > 100 {
			return driver.Record{}, false, driver.ErrTooLarge
		}
		return next()
	}}
	config := &idempotent.Config{Payloads: payloads, PayloadAbove: 1 << 20}
	charged := 0
	if _, _, err := do(t.Context(), newExecutor(t, full, config), charging(&charged, large)); err == nil {
		t.Fatal("no error")
	}
	if kept := stored(t, store).Steps["charge"]; !strings.HasPrefix(string(kept), "@") {
		t.Errorf("stored %q", kept)
	}
	if value, _, err := do(t.Context(), newExecutor(t, full, config), charging(&charged, "again")); value != large || err != nil {
		t.Errorf("the next attempt got %.20q, %v", value, err)
	}
}

// failing is a Sealer that cannot seal for some slots.
type failing struct {
	backwards
	slot string
}

func (f *failing) Seal(ctx context.Context, p idempotent.Place, data []byte) ([]byte, error) {
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
	if !errors.Is(err, idempotent.ErrCompensation) || !errors.Is(err, errNetwork) {
		t.Errorf("got %v", err)
	}
	checkDone(t, tr, "flight", "hotel", "car")
	if _, ok := stored(t, store).Steps[":failure"]; ok {
		t.Error("what cannot be read is kept")
	}
	sealer.slot = ""
	_, _, err = do(t.Context(), x, tr.book)
	if _, ok := err.(*soldOutError); !ok {
		t.Errorf("the retry: %v", err)
	}
	checkDone(t, tr, "car", "not a hotel", "not a flight")
}

// The deadline of a step's context does not apply to storing its result.
func TestStepIsStoredAfterItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, payloads := memory.New(0), newShelf()
		payloads.put = func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Second):
				return "", nil
			}
		}
		_, _, _ = do(t.Context(), newExecutor(t, store, spilling(payloads)), func(ctx context.Context) (string, error) {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := idempotent.Step(short, "charge", func(context.Context) (string, error) {
				time.Sleep(900 * time.Millisecond)
				return large, nil
			})
			return "", errors.Join(errors.New("try again"), err)
		})
		if kept := stored(t, store).Steps["charge"]; !strings.HasPrefix(string(kept), "@") {
			t.Errorf("stored %q", kept)
		}
	})
}
