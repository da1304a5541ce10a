package idempotent_test

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
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
	// It ends neither the outer call's claim nor a Do within.
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

// A receiver takes two messages with one key for one message.
func TestChainKeysOfDifferentPathsDiffer(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true") // so that every handler runs, under one id
	x := newExecutor(t, memory.New(0), nil)
	first := func(name string, steps ...string) (key string) { return chainKey(t, t.Context(), x, name, steps) }
	then := func(chain, name string, steps ...string) string {
		return chainKey(t, adapter.With(t.Context(), adapter.Settings{Chain: chain}), x, name, steps)
	}
	seen := map[string]int{}
	for i, key := range []string{
		first("a"), first("b", "a"), first("a:b"), first("op#x", "a"), first("op%23x", "a"), first("x", "a", "op#"),
		then(first("a"), "x"), then(first("a"), "x", "b"), then(first("b", "a"), "x"), then(first("a"), "op#x"),
		then(then(first("a"), "b"), "x"), then(first("a"), "x", "op#b"), then(then(first("a"), "x"), "x"),
	} {
		if other, ok := seen[key]; ok {
			t.Errorf("%d and %d have one key: %q", other, i, key)
		}
		seen[key] = i
	}
}

func chainKey(t *testing.T, ctx context.Context, x *idempotent.Executor, name string, steps []string) (key string) {
	t.Helper()
	var within func(ctx context.Context, steps []string) (string, error)
	within = func(ctx context.Context, steps []string) (string, error) {
		if len(steps) == 0 {
			key = idempotent.ChainKey(ctx, name)
			return "", nil
		}
		return idempotent.Step(ctx, steps[0], func(ctx context.Context) (string, error) { return within(ctx, steps[1:]) })
	}
	if _, err := idempotent.Do(ctx, x, theKey, func(ctx context.Context) (string, error) {
		return within(ctx, steps)
	}); err != nil {
		t.Fatal(err)
	}
	return key
}

// Two calls for one message use different keys for what they send.
func TestChainKeysOfTwoRecordsUnderOneMessageDiffer(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	const chain = "root:message"
	ctx := adapter.With(t.Context(), adapter.Settings{Chain: chain})
	seen := map[string]string{}
	for _, id := range []string{"3", "4", chain} {
		_, err := idempotent.Do(ctx, x, idempotent.Key{ID: id}, func(ctx context.Context) (string, error) {
			key := idempotent.ChainKey(ctx, "x")
			if other, ok := seen[key]; ok {
				t.Errorf("%s and %s both send with %q", id, other, key)
			}
			seen[key] = id
			return "", nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen["root:message:op#x"] != chain {
		t.Errorf("%q", seen)
	}
}

// A call without a record has the chain alone, which is the same in every
// attempt.
func TestChainKeysWithoutRecordAreStable(t *testing.T) {
	ctx := adapter.With(t.Context(), adapter.Settings{Chain: "root:message"})
	one, other := idempotent.ChainKey(idempotent.Unprotected(ctx), "x"), idempotent.ChainKey(idempotent.Unprotected(ctx), "x")
	if one != other {
		t.Errorf("%q and %q", one, other)
	}
}

// Two undos of a bypassed call must not send one refund.
func TestUndosHaveTheirDownstreamKeysInEveryRun(t *testing.T) {
	keys := func() (keys [2]string) {
		n := 0
		undo := func(ctx context.Context, _ string) error {
			keys[n] = idempotent.DownstreamKey(ctx, "refund")
			n++
			return nil
		}
		_, _, err := do(t.Context(), newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
			for _, name := range []string{"a", "b"} {
				if _, err := idempotent.SagaStep(ctx, name, returns("x"), undo); err != nil {
					return "", err
				}
			}
			return "", soldOut()
		})
		if err == nil {
			t.Error("no error")
		}
		return keys
	}
	protected := keys()
	t.Setenv("ONCE_DISABLED", "true")
	if bypassed := keys(); bypassed != protected || bypassed[0] == bypassed[1] {
		t.Errorf("%q, and bypassed %q", protected, bypassed)
	}
}

// A step has one downstream key in every attempt.
func TestStepKeysAreTheSameInEveryAttempt(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, crashing(store), nil)
	seen := map[string]bool{}
	for range 3 {
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
				seen[idempotent.DownstreamKey(ctx, "card")] = true
				seen[idempotent.ChainKey(ctx, "card")] = true
				return "", errCrash
			})
		})
		if err != errCrash {
			t.Fatal(err)
		}
	}
	if len(seen) != 2 {
		t.Errorf("%d keys: %v", len(seen), seen)
	}
}
