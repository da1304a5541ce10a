package docs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// The code of docs/guarantees.md.

func payOuts(store driver.Store) (*idempotent.Executor, error) {
	x, err := idempotent.New("pay-out", store, &idempotent.Config{MaxAttempts: 1})
	return x, err
}

func TestGuaranteesPageOfMaxAttempts(t *testing.T) {
	x, err := payOuts(memory.New(0))
	if err != nil {
		t.Fatal(err)
	}
	failure, runs := errors.New("the bank did not answer"), 0
	pay := func(id string, err error) error {
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{ID: id}, func(context.Context) (string, error) { runs++; return "", err })
		return err
	}
	if err := pay("1", failure); err != failure {
		t.Errorf("first: %v", err)
	}
	if err := pay("1", nil); !errors.Is(err, idempotent.ErrOutcomeUnknown) || runs != 1 {
		t.Errorf("second: %v after %d runs", err, runs)
	}
	if err := pay("2", idempotent.Retryable(failure)); !errors.Is(err, failure) {
		t.Errorf("nothing was done: %v", err)
	}
	if err := pay("2", nil); err != nil || runs != 3 {
		t.Errorf("after that: %v after %d runs", err, runs)
	}
}
