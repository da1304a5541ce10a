package idempotent_test

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/lambda-once/once/idempotent"
)

// The downstream key is the same in every attempt, process, release and
// bypass, and another for every name, key and operation.
func TestDownstreamKey(t *testing.T) {
	ask := func(x *idempotent.Executor, key idempotent.Key, end error) (got string) {
		_, err := idempotent.Do(t.Context(), x, key, func(ctx context.Context) (int, error) {
			got = idempotent.DownstreamKey(ctx, "charge")
			if other := idempotent.DownstreamKey(ctx, "refund"); other == got {
				t.Error("two names have one key")
			}
			return 0, end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
		return got
	}
	store := idempotent.NewMemory(0)
	x := newExecutor(t, store, nil)
	failed := errors.New("try again")
	first := ask(x, theKey, failed)
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(first) {
		t.Errorf("%s is no UUID of version 8", first)
	}
	if want := "3655272b-fdb6-8985-a665-3283495ce99c"; first != want {
		t.Errorf("got %s, want %s: other services know it by that", first, want)
	}
	t.Run("the same", func(t *testing.T) {
		if again := ask(x, theKey, nil); again != first {
			t.Errorf("after a release: %s and %s", first, again)
		}
		if elsewhere := ask(newExecutor(t, idempotent.NewMemory(0), nil), theKey, nil); elsewhere != first {
			t.Errorf("in another process: %s and %s", first, elsewhere)
		}
		t.Setenv("ONCE_DISABLED", "1")
		if bypassed := ask(newExecutor(t, unusable{}, nil), theKey, nil); bypassed != first {
			t.Errorf("in a bypass: %s and %s", first, bypassed)
		}
	})
	for _, other := range []idempotent.Key{{Scope: "tenant", ID: "l"}, {ID: "k"}, {Scope: "tenan", ID: "tk"}} {
		if got := ask(x, other, nil); got == first {
			t.Errorf("%+v has the same key", other)
		}
	}
	y, err := idempotent.New("another", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(y, theKey, nil); got == first {
		t.Error("another operation has the same key")
	}
}

func TestDownstreamKeyPanics(t *testing.T) {
	panics := func(name string, fn func()) {
		t.Helper()
		defer func() {
			t.Helper()
			if recover() == nil {
				t.Errorf("%s: no panic", name)
			}
		}()
		fn()
	}
	panics("outside of a call", func() { idempotent.DownstreamKey(t.Context(), "charge") })
	_, _, err := do(t.Context(), newExecutor(t, idempotent.NewMemory(0), nil), func(ctx context.Context) (string, error) {
		panics("without a name", func() { idempotent.DownstreamKey(ctx, "") })
		return "", nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFromContextOutsideOfACall(t *testing.T) {
	if claim, ok := idempotent.FromContext(t.Context()); ok || claim != (idempotent.Claim{}) {
		t.Errorf("got %+v, %v", claim, ok)
	}
}
