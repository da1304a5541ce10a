package idempotent_test

import (
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// Nothing was done before, so that no alarm for takeovers must ring.
func TestRunAfterRefundedAttemptsIsNoTakeover(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{MaxAttempts: 2}) // the record stays, to count them
	for range 2 {
		try(t.Context(), t, x, failsWith(idempotent.Retryable(errors.New("the bank is closed")))).failed()
	}
	try(t.Context(), t, x, returns("done")).succeeded().ended(idempotent.OutcomeExecuted)
	recordIs(t, store, "completed, attempt 3, refunds 2")
}
