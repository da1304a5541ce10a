package idempotent_test

import (
	"context"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/memory"
)

// Two messages with one key are one message to whoever gets them.
func TestChainKeysOfDifferentWaysDiffer(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true") // so that every handler runs, under one id
	x := newExecutor(t, memory.New(0), nil)
	first := func(name string, steps ...string) (key string) { return chainKey(t, t.Context(), x, name, steps) }
	then := func(chain, name string, steps ...string) string {
		return chainKey(t, adapter.WithChain(t.Context(), chain), x, name, steps)
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
