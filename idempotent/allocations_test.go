//go:build !race

// The race detector allocates as well.
package idempotent_test

import (
	"context"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestDuplicateAllocations(t *testing.T) {
	key := func(p payment) (idempotent.Key, error) {
		return idempotent.Key{Scope: p.Customer, ID: p.ID, Payload: p}, nil
	}
	pay := idempotent.Wrap(newExecutor(t, memory.New(0), nil), key, func(_ context.Context, p payment) (payment, error) { return p, nil })
	call := func() {
		got, err := pay(t.Context(), aPayment)
		check.Must(t, err)
		check.Equal(t, got, aPayment)
	}
	call()
	n := testing.AllocsPerRun(500, call)
	check.True(t, n <= 15, n)
}
