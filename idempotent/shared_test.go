package idempotent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

type indented struct{ idempotent.JSON }

func (indented) Encode(result any) ([]byte, error) { return json.MarshalIndent(result, "", " ") }

// What another library cannot read or keep is refused when the function
// starts, all of it at once.
func TestSharedRefusesWhatAnotherLibraryCannotKeep(t *testing.T) {
	_, err := idempotent.New("op", memory.New(0), &idempotent.Config{
		Shared: true, Codec: indented{}, MaxAttempts: 3, Payloads: newShelf(), Sealer: &backwards{},
	})
	check.As[*driver.ConfigError](t, err)
	for _, want := range []string{"Codec with Shared: ", "MaxAttempts is 3 with Shared: ", "Payloads with Shared: ", "Sealer with Shared: "} {
		check.Says(t, err, want)
	}
}

// The other library has no failed records.
func TestSharedReleasesPermanentErrors(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{Shared: true})
	try(t.Context(), t, x, failsWith(idempotent.Permanent(errNetwork))).is(errNetwork)
	check.Equal(t, stored(t, store).Status, driver.Absent)
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
				check.Is(t, step(ctx, charge(&charges, nil)), idempotent.ErrStep, "the step returns")
				return "done", nil
			})
			refused := check.As[*idempotent.StepError](t, err)
			check.Contains(t, refused.Reason, "Config.Shared")
			check.Equal(t, charges, 0)
			check.Equal(t, stored(t, store).Status, driver.Absent)
		})
	}
}

// A downstream key needs nothing in the record.
func TestSharedHasDownstreamKeys(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{Shared: true})
	keys := map[string]bool{}
	for range 2 {
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			keys[idempotent.DownstreamKey(ctx, "charge")] = true
			return "", errNetwork
		}).is(errNetwork)
	}
	check.Equal(t, len(keys), 1)
}
