package docs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/guarantees.md.

func payOuts(store driver.Store) (*idempotent.Executor, error) {
	x, err := idempotent.New("pay-out", store, &idempotent.Config{MaxAttempts: 1})
	return x, err
}

func TestGuaranteesPageOfMaxAttempts(t *testing.T) {
	x, err := payOuts(memory.New(0))
	check.Must(t, err)
	failure, runs := errors.New("the bank did not answer"), 0
	pay := func(id string, err error) error {
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: id}, func(context.Context) (string, error) { runs++; return "", err })
		return err
	}
	check.Equal(t, pay("1", failure), failure, "first")
	check.Is(t, pay("1", nil), idempotent.ErrOutcomeUnknown, "second")
	check.Equal(t, runs, 1, "runs")
	check.Is(t, pay("2", idempotent.Retryable(failure)), failure, "nothing was done")
	check.Nil(t, pay("2", nil), "after that")
	check.Equal(t, runs, 3, "runs")
}
