package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
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
	store := memory.New(0)
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
		if elsewhere := ask(newExecutor(t, memory.New(0), nil), theKey, nil); elsewhere != first {
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
	panics(t, "outside of a call", func() { idempotent.DownstreamKey(t.Context(), "charge") })
	_, _, err := do(t.Context(), newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
		panics(t, "without a name", func() { idempotent.DownstreamKey(ctx, "") })
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

func TestUnprotected(t *testing.T) {
	handler := func(ctx context.Context) string { return idempotent.DownstreamKey(ctx, "charge") }
	ctx := idempotent.Unprotected(t.Context())
	one, other := handler(ctx), handler(idempotent.Unprotected(t.Context()))
	if one == "" || one != handler(ctx) || one == other {
		t.Errorf("keys %q and %q", one, other)
	}
	claim, ok := idempotent.FromContext(ctx)
	if !ok || claim != (idempotent.Claim{}) {
		t.Errorf("the claim is %+v, %v", claim, ok)
	}
	// It ends neither the outer call's hold on its key nor a Do within.
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
		value, _, err := do(idempotent.Unprotected(ctx), x, mustNotRun(t))
		return value, err
	})
	if !errors.Is(err, idempotent.ErrNestedCall) {
		t.Errorf("a call within itself: %v", err)
	}
}

func TestWrapRefusesNil(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	key := idempotent.Field(func(s string) string { return s })
	fn := func(context.Context, string) (string, error) { return "", nil }
	effect := func(context.Context, string) error { return nil }
	for name, wrap := range map[string]func(){
		"the Executor is nil":     func() { idempotent.Wrap(nil, key, fn) },
		"the key function is nil": func() { idempotent.Wrap(x, nil, fn) },
		"the handler is nil":      func() { idempotent.Wrap[string, string](x, key, nil) },
		"WrapEffect: the handler": func() { idempotent.WrapEffect(x, key, nil) },
		"WrapEffect: the key":     func() { idempotent.WrapEffect(x, nil, effect) },
		"the zero one":            func() { idempotent.Wrap(new(idempotent.Executor), key, fn) },
		"Do: the Executor is nil": func() { _, _ = idempotent.Do(t.Context(), nil, theKey, returns("")) },
		"Do: the Executor is the zero one": func() {
			_, _ = idempotent.Do(t.Context(), new(idempotent.Executor), theKey, returns(""))
		},
		"Do: the handler is nil":    func() { _, _ = idempotent.Do[string](t.Context(), x, theKey, nil) },
		"Step: the function is nil": func() { _, _ = idempotent.Step[string](idempotent.Unprotected(t.Context()), "s", nil) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), name) {
					t.Errorf("%s: panics with %v", name, p)
				}
			}()
			wrap()
		}()
	}
}
