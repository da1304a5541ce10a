package idempotent_test

import (
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// Nothing was done before, so that no alarm for takeovers must ring.
func TestRunAfterRefundedAttemptsIsNoTakeover(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{MaxAttempts: 2}) // the record stays, to count them
	for range 2 {
		try(t.Context(), t, x, failsWith(idempotent.Retryable(errors.New("the bank is closed")))).failed()
	}
	try(t.Context(), t, x, returns("done")).succeeded().ended(idempotent.OutcomeExecuted)
	r := stored(t, store)
	check.Equal(t, r.Attempt, 3)
	check.Equal(t, r.Used(), 1)
}
