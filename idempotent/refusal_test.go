package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// keyRefusal is an error of a key function that names its own reason.
type keyRefusal struct{ why idempotent.Refusal }

func (e *keyRefusal) Error() string               { return "refused" }
func (e *keyRefusal) Refusal() idempotent.Refusal { return e.why }

// Reasons are few, whatever errors say: metrics have them as a dimension.
func TestRefusalOfAKeyFunction(t *testing.T) {
	for want, err := range map[idempotent.Refusal]error{
		idempotent.RefusalMissingKey:    &idempotent.MissingKeyError{Part: "id"},
		idempotent.RefusalUnknownCaller: fmt.Errorf("scope: %w", &idempotent.MissingKeyError{Part: "scope"}),
		idempotent.RefusalInvalidKey:    errors.Join(errors.New("no"), &idempotent.InvalidKeyError{Part: "ID"}),
		idempotent.RefusalUnreadable:    &idempotent.InvalidPayloadError{},
		idempotent.RefusalTooLarge:      &keyRefusal{idempotent.RefusalTooLarge},
		idempotent.RefusalRejected:      &keyRefusal{"a reason of each request"},
		"":                              errors.New("broken"),
	} {
		check.Equal(t, refusalBy(t, err).Refusal(), want, err)
	}
	for _, err := range []error{&keyRefusal{""}, (*keyRefusal)(nil), &idempotent.StoreError{Op: "claim", Err: &idempotent.InvalidPayloadError{}}} {
		check.Equal(t, refusalBy(t, err).Refusal(), "", err)
	}
	check.Equal(t, refusalBy(t, &idempotent.InvalidKeyError{Part: "Scope"}).Refusal(), idempotent.RefusalUnknownCaller)
}

func refusalBy(t *testing.T, keyErr error) idempotent.Event {
	t.Helper()
	var observed []idempotent.Event
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: observe(func(e idempotent.Event) { observed = append(observed, e) })})
	key := func(string) (idempotent.Key, error) { return idempotent.Key{}, keyErr }
	_, _ = idempotent.Wrap(x, key, func(ctx context.Context, _ string) (string, error) { return mustNotRun(t)(ctx) })(t.Context(), "")
	if len(observed) != 1 {
		t.Fatalf("%d events", len(observed))
	}
	return observed[0]
}

// A handler that returns the error of a call of its own was not refused.
func TestFailureOfAHandlerIsNoRefusal(t *testing.T) {
	for name, err := range map[string]error{
		"released":  &idempotent.MissingKeyError{Part: "id"},
		"permanent": idempotent.Permanent(&idempotent.MissingKeyError{Part: "id"}),
	} {
		for _, store := range []driver.Store{memory.New(0), newBank()} {
			x := newExecutor(t, store, nil)
			for range 2 { // again, as it was stored
				_, event, _ := do(t.Context(), x, failsWith(err))
				check.Equal(t, event.Refusal(), "", name)
			}
		}
	}
}
