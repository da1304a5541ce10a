package docs_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/seal"
)

// The statements of docs/evolving-code.md about policies, and about rollbacks.

var (
	errPassing  = errors.New("passes")
	errDeclined = idempotent.Permanent(errors.New("declined"))
)

// call calls the key "k" under a configuration, and reports whether the handler
// ran. A nil handler returns "new".
func call(t *testing.T, store driver.Store, c *idempotent.Config, handler func(context.Context) (string, error)) (_ string, ran bool, err error) {
	t.Helper()
	x, err := idempotent.New("op", store, c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
		ran = true
		if handler == nil {
			return "new", nil
		}
		return handler(ctx)
	})
	return got, ran, err
}

// usedUp stores a key whose one attempt failed, so that it waits for a person.
func usedUp(t *testing.T) driver.Store {
	t.Helper()
	store := memory.New(0)
	if _, _, err := call(t, store, &idempotent.Config{MaxAttempts: 1}, func(context.Context) (string, error) { return "", errPassing }); !errors.Is(err, errPassing) {
		t.Fatal(err)
	}
	if _, ran, err := call(t, store, &idempotent.Config{MaxAttempts: 1}, nil); ran || !errors.Is(err, idempotent.ErrOutcomeUnknown) {
		t.Fatalf("the key does not wait for a person: ran %t, %v", ran, err)
	}
	return store
}

func TestVersionWithMoreOrNoMaxAttemptsRunsAKeyThatWaitsForAPerson(t *testing.T) {
	for _, c := range []*idempotent.Config{nil, {MaxAttempts: 2}} {
		if got, ran, err := call(t, usedUp(t), c, nil); !ran || err != nil {
			t.Errorf("%+v: got %q, ran %t, %v", c, got, ran, err)
		}
	}
}

func TestLoweredRetentionRunsALaterRepetition(t *testing.T) {
	for _, retention := range []time.Duration{2 * time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store, c := memory.New(0), &idempotent.Config{Retention: retention}
			if _, _, err := call(t, store, c, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(90 * time.Minute)
			if _, ran, err := call(t, store, c, nil); ran != (retention == time.Hour) || err != nil {
				t.Errorf("%s: ran %t, %v", retention, ran, err)
			}
		})
	}
}

func TestStoredRecordKeepsItsEndWhenTheRetentionIsLowered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		if _, _, err := call(t, store, &idempotent.Config{Retention: 2 * time.Hour}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		if _, ran, err := call(t, store, &idempotent.Config{Retention: time.Hour}, nil); ran || err != nil {
			t.Errorf("ran %t, %v", ran, err)
		}
	})
}

func sealed(t *testing.T) *idempotent.Config {
	t.Helper()
	keys, err := seal.Static("a", map[string][]byte{"a": bytes.Repeat([]byte{1}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return &idempotent.Config{Sealer: seal.New(keys, nil)}
}

func TestVersionWithoutTheSealerRefusesASealedStep(t *testing.T) {
	store, effects := memory.New(0), 0
	handler := func(err error) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			id, stepErr := idempotent.Step(ctx, "charge", func(context.Context) (string, error) { effects++; return "c-1", nil })
			return id, errors.Join(stepErr, err)
		}
	}
	if _, _, err := call(t, store, sealed(t), handler(errPassing)); !errors.Is(err, errPassing) {
		t.Fatal(err)
	}
	if _, _, err := call(t, store, nil, handler(nil)); !errors.Is(err, idempotent.ErrResultUnavailable) {
		t.Error(err)
	}
	if effects != 1 {
		t.Errorf("%d effects of the step, want 1", effects)
	}
}

// elsewhere is a payload store that no version reads from.
type elsewhere struct{}

func (elsewhere) Put(context.Context, []byte) (string, error) { return "elsewhere", nil }

func (elsewhere) Get(context.Context, string) ([]byte, error) { return nil, errors.New("read") }

func TestVersionWithoutTheSealerOrPayloadsRefusesTheirResult(t *testing.T) {
	large := func(context.Context) (string, error) { return string(bytes.Repeat([]byte("x"), 300_000)), nil }
	for _, c := range []*idempotent.Config{sealed(t), {Payloads: elsewhere{}}} {
		store := memory.New(0)
		if _, _, err := call(t, store, c, large); err != nil {
			t.Fatal(err)
		}
		if _, ran, err := call(t, store, nil, large); ran || !errors.Is(err, idempotent.ErrResultUnavailable) {
			t.Errorf("ran %t, %v", ran, err)
		}
	}
}

func TestVersionWithoutASagaStepDoesNotUndoIt(t *testing.T) {
	store, undone := memory.New(0), 0
	with := func(err error) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			_, stepErr := idempotent.SagaStep(ctx, "reserve", func(context.Context) (string, error) { return "r-1", nil },
				func(context.Context, string) error { undone++; return nil })
			return "", errors.Join(stepErr, err)
		}
	}
	if _, _, err := call(t, store, nil, with(errPassing)); !errors.Is(err, errPassing) {
		t.Fatal(err)
	}
	if _, _, err := call(t, store, nil, func(context.Context) (string, error) { return "", errDeclined }); !errors.Is(err, idempotent.ErrCompensation) {
		t.Errorf("the older version: %v", err)
	}
	if undone != 0 {
		t.Errorf("the older version undid %d steps, and cannot know how", undone)
	}
	if _, _, err := call(t, store, nil, with(errDeclined)); !errors.Is(err, errDeclined) || errors.Is(err, idempotent.ErrCompensation) {
		t.Errorf("a version that reaches the step again: %v", err)
	}
	if undone != 1 {
		t.Errorf("a version that reaches the step undid it %d times, want once", undone)
	}
}
