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
			*charged++ // the second attempt goes on
			return "", errors.Join(errors.New("try again"), err)
		}
		return receipt, nil
	}
}

func TestStepsAreSealedAndKeptElsewhere(t *testing.T) {
	for name, above := range map[string]int{"sealed": 1 << 20, "sealed and elsewhere": 10} {
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

// A step of another name, or one that nobody has sealed, is not taken for the
// result of this one, and the step is not repeated for it.
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

// A client that has gone is no reason to lose what a step has done.
func TestStepIsKeptAfterItsCallerHasGone(t *testing.T) {
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

// A step that was done is recorded as done within the handler's time, however
// long the payload store hangs.
func TestStepThatCannotBeKept(t *testing.T) {
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
