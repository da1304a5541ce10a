package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

type indented struct{ idempotent.JSON }

func (indented) Encode(result any) ([]byte, error) { return json.MarshalIndent(result, "", " ") }

// What another library cannot read or keep is refused when the function
// starts, all of it at once.
func TestSharedRefusesWhatAnotherLibraryCannotKeep(t *testing.T) {
	_, err := idempotent.New("op", memory.New(0), &idempotent.Config{
		Shared: true, Codec: indented{}, MaxAttempts: 3, Payloads: newShelf(), Sealer: &backwards{},
	})
	var refused *idempotent.ConfigError
	if !errors.As(err, &refused) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"Codec with Shared: ", "MaxAttempts is 3 with Shared: ", "Payloads with Shared: ", "Sealer with Shared: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// The other library has no failed records.
func TestSharedReleasesPermanentErrors(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{Shared: true})
	if _, _, err := do(t.Context(), x, failsWith(idempotent.Permanent(errNetwork))); !errors.Is(err, errNetwork) {
		t.Errorf("%v", err)
	}
	if got := stored(t, store); got.Status != driver.Absent {
		t.Errorf("stored: %+v", got)
	}
}

// A step is refused before it has an effect, and the call with it, even if the
// handler ignores the error.
func TestSharedRefusesStepsBeforeTheyRun(t *testing.T) {
	for name, step := range map[string]func(context.Context, func(context.Context) (string, error)) error{
		"Step": func(ctx context.Context, fn func(context.Context) (string, error)) error {
			_, err := idempotent.Step(ctx, "charge", fn)
			return err
		},
		"SagaStep": func(ctx context.Context, fn func(context.Context) (string, error)) error {
			_, err := idempotent.SagaStep(ctx, "charge", fn, func(context.Context, string) error { return nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, &idempotent.Config{Shared: true})
			charges := 0
			_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
				if err := step(ctx, charge(&charges, nil)); !errors.Is(err, idempotent.ErrStep) {
					t.Errorf("the step returns %v", err)
				}
				return "done", nil
			})
			var refused *idempotent.StepError
			if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "Config.Shared") || charges != 0 {
				t.Errorf("%d charges, %v", charges, err)
			}
			if got := stored(t, store); got.Status != driver.Absent {
				t.Errorf("stored: %+v", got)
			}
		})
	}
}

// A downstream key needs nothing in the record.
func TestSharedHasDownstreamKeys(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{Shared: true})
	keys := map[string]bool{}
	for range 2 {
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			keys[idempotent.DownstreamKey(ctx, "charge")] = true
			return "", errNetwork
		})
		if !errors.Is(err, errNetwork) {
			t.Fatal(err)
		}
	}
	if len(keys) != 1 {
		t.Errorf("%d keys", len(keys))
	}
}
