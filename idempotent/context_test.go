package idempotent_test

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The downstream key is the same in every attempt, process, release and
// bypass, and another for every name, key and operation.
func TestDownstreamKey(t *testing.T) {
	ask := func(x *idempotent.Executor, key idempotent.Key, end error) (got string) {
		_, err := idempotent.Do(t.Context(), x, key, func(ctx context.Context) (int, error) {
			got = idempotent.DownstreamKey(ctx, "charge")
			check.Differ(t, idempotent.DownstreamKey(ctx, "refund"), got, "two names have one key")
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
	check.True(t, regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(first), "is no UUID of version 8")
	check.Equal(t, first, "3655272b-fdb6-8985-a665-3283495ce99c")
	t.Run("the same", func(t *testing.T) {
		check.Equal(t, ask(x, theKey, nil), first)
		check.Equal(t, ask(newExecutor(t, memory.New(0), nil), theKey, nil), first)
		t.Setenv("ONCE_DISABLED", "1")
		check.Equal(t, ask(newExecutor(t, unusable{}, nil), theKey, nil), first)
	})
	for _, other := range []idempotent.Key{{Scope: "tenant", ID: "l"}, {ID: "k"}, {Scope: "tenan", ID: "tk"}} {
		check.Differ(t, ask(x, other, nil), first, "has the same key", other)
	}
	y := named(t, "another", store, nil)
	check.Differ(t, ask(y, theKey, nil), first, "another operation has the same key")
}

func TestDownstreamKeyPanics(t *testing.T) {
	panics(t, "outside of a call", func() { idempotent.DownstreamKey(t.Context(), "charge") })
	try(t.Context(), t, newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
		panics(t, "without a name", func() { idempotent.DownstreamKey(ctx, "") })
		return "", nil
	}).succeeded()
}

func TestFromContextOutsideOfACall(t *testing.T) {
	claim, ok := idempotent.FromContext(t.Context())
	check.False(t, ok)
	check.Equal(t, claim, (idempotent.Claim{}))
}

func TestUnprotected(t *testing.T) {
	handler := func(ctx context.Context) string { return idempotent.DownstreamKey(ctx, "charge") }
	ctx := idempotent.Unprotected(t.Context())
	one, other := handler(ctx), handler(idempotent.Unprotected(t.Context()))
	check.Differ(t, one, "")
	check.Equal(t, one, handler(ctx))
	check.Differ(t, one, other)
	claim, ok := idempotent.FromContext(ctx)
	check.True(t, ok)
	check.Equal(t, claim, (idempotent.Claim{}))
	// It ends neither the outer call's claim nor a Do within.
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		value, _, err := do(idempotent.Unprotected(ctx), x, mustNotRun(t))
		return value, err
	}).is(idempotent.ErrNestedCall)
}

// A receiver takes two messages with one key for one message.
func TestChainKeysOfDifferentPathsDiffer(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "true") // so that every handler runs, under one id
	x := newExecutor(t, memory.New(0), nil)
	first := func(name string, steps ...string) (key string) { return chainKey(t, t.Context(), x, name, steps) }
	then := func(chain, name string, steps ...string) string {
		return chainKey(t, adapter.With(t.Context(), adapter.Chain(chain)), x, name, steps)
	}
	seen := map[string]int{}
	for i, key := range []string{
		first("a"), first("b", "a"), first("a:b"), first("op#x", "a"), first("op%23x", "a"), first("x", "a", "op#"),
		then(first("a"), "x"), then(first("a"), "x", "b"), then(first("b", "a"), "x"), then(first("a"), "op#x"),
		then(then(first("a"), "b"), "x"), then(first("a"), "x", "op#b"), then(then(first("a"), "x"), "x"),
	} {
		_, ok := seen[key]
		check.False(t, ok, i, key)
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
	_, err := idempotent.Do(ctx, x, theKey, func(ctx context.Context) (string, error) {
		return within(ctx, steps)
	})
	check.Must(t, err)
	return key
}

// Two calls for one message use different keys for what they send.
func TestChainKeysOfTwoRecordsUnderOneMessageDiffer(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	const chain = "root:message"
	ctx := adapter.With(t.Context(), adapter.Chain(chain))
	seen := map[string]string{}
	for _, id := range []string{"3", "4", chain} {
		_, err := idempotent.Do(ctx, x, idempotent.Key{ID: id}, func(ctx context.Context) (string, error) {
			key := idempotent.ChainKey(ctx, "x")
			_, ok := seen[key]
			check.False(t, ok, id)
			seen[key] = id
			return "", nil
		})
		check.Must(t, err)
	}
	check.Equal(t, seen["root:message:op#x"], chain)
}

// A call without a record has the chain alone, which is the same in every
// attempt.
func TestChainKeysWithoutRecordAreStable(t *testing.T) {
	ctx := adapter.With(t.Context(), adapter.Chain("root:message"))
	one, other := idempotent.ChainKey(idempotent.Unprotected(ctx), "x"), idempotent.ChainKey(idempotent.Unprotected(ctx), "x")
	check.Equal(t, one, other)
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
		try(t.Context(), t, newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
			for _, name := range []string{"a", "b"} {
				if _, err := idempotent.SagaStep(ctx, name, returns("x"), undo); err != nil {
					return "", err
				}
			}
			return "", soldOut()
		}).failed()
		return keys
	}
	protected := keys()
	t.Setenv("ONCE_DISABLED", "true")
	bypassed := keys()
	check.Equal(t, bypassed, protected)
	check.Differ(t, bypassed[0], bypassed[1])
}

// A step has one downstream key in every attempt.
func TestStepKeysAreTheSameInEveryAttempt(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, crashing(store), nil)
	seen := map[string]bool{}
	for range 3 {
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
				seen[idempotent.DownstreamKey(ctx, "card")] = true
				seen[idempotent.ChainKey(ctx, "card")] = true
				return "", errCrash
			})
		}).fails(errCrash)
	}
	check.Equal(t, len(seen), 2)
}
