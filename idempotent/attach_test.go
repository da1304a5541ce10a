package idempotent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func panics(t *testing.T, _ string, fn func()) {
	t.Helper()
	text, ok := panicOf(fn).(string) // a nil dereference is no refusal
	check.True(t, ok)
	check.True(t, strings.HasPrefix(text, "idempotent: "))
}

// A later attempt receives the step's result without running it: its commit
// would miss what the step had attached.
func TestAttachNotWithinAStep(t *testing.T) {
	b := newBank()
	x := newExecutor(t, b, nil)
	panics(t, "a step", func() {
		do(t.Context(), x, func(ctx context.Context) (string, error) {
			return idempotent.Step(ctx, "debit", books("debit", nil))
		})
	})
	panics(t, "what undoes one", func() {
		do(t.Context(), x, func(ctx context.Context) (string, error) {
			_, err := idempotent.SagaStep(ctx, "debit", returns("x"), func(ctx context.Context, _ string) error {
				book(ctx, "refund")
				return nil
			})
			if err != nil {
				return "", err
			}
			return "", soldOut()
		})
	})
	check.Equal(t, stored(t, b).Status, driver.InProgress, "with a refund that was not booked")
}

func TestAttachNotAfterTheHandler(t *testing.T) {
	for name, fail := range map[string]error{"nil": nil, "an error": errCrash} {
		b := newBank()
		var late context.Context
		var first *entry
		x := newExecutor(t, b, nil)
		do(t.Context(), x, func(ctx context.Context) (string, error) { late = ctx; return "", fail })
		panics(t, "the first, after "+name, func() { book(late, "late") })
		do(t.Context(), newExecutor(t, newBank(), nil), func(ctx context.Context) (string, error) {
			late, first = ctx, book(ctx, "in time")
			return "", fail
		})
		panics(t, "another, after "+name, func() { book(late, "late") })
		check.Equal(t, first.sealed, 1, name)
	}
}

// The panic names the store with transactions for a unit test.
func TestAttachSaysWhatAUnitTestNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		want string
		call func()
	}{
		"in memory": {"*memory.Store", func() {
			do(t.Context(), newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
				book(ctx, "x")
				return "", nil
			})
		}},
		"unprotected": {"idempotent.Unprotected", func() { book(idempotent.Unprotected(t.Context()), "x") }},
	} {
		said := fmt.Sprint(panicOf(c.call))
		for _, want := range []string{c.want, "in a unit test", "dynamo.Store", "dynamodblocal.NewTable", "postgres.Store", "postgreslocal.NewDatabase"} {
			check.Contains(t, said, want, name)
		}
	}
}

func TestAttachWhereNothingWouldCommit(t *testing.T) {
	refused := func(name string, ctx context.Context) { panics(t, name, func() { book(ctx, "x") }) }
	refused("no call", t.Context())
	refused("unprotected", idempotent.Unprotected(t.Context()))
	_, err := idempotent.Do(t.Context(), newExecutor(t, memory.New(0), nil), theKey, func(ctx context.Context) (int, error) {
		refused("no transactions", ctx)
		return 0, nil
	})
	check.Nil(t, err)
}
