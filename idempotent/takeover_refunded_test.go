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
		_, _, err := do(t.Context(), x, failsWith(idempotent.Retryable(errors.New("the bank is closed"))))
		if err == nil {
			t.Fatal("no error")
		}
	}
	_, event, err := do(t.Context(), x, returns("done"))
	if err != nil || event.Outcome != idempotent.OutcomeExecuted {
		t.Errorf("attempt %d: outcome %s, %v", event.Attempt, event.Outcome, err)
	}
	if r := stored(t, store); r.Attempt != 3 || r.Used() != 1 {
		t.Errorf("stored %+v", r)
	}
}
