package handlers_test

import (
	"testing"
	"testing/synctest"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// A message without a key has nothing to claim, so it is one call.
func TestMessageThatCannotRunIsObservedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &observed{}
		handler := (&distant{Store: memory.New(0)}).queue(t, &idempotent.Config{Observer: seen}, handlers.SQSOptions{})
		messages, _ := orders(3)
		messages[1].Body = "{"
		if answer, err := deliver(t.Context(), handler, sqsEvent(t, messages...)); err != nil || len(reportedIDs(t, answer)) != 1 {
			t.Fatalf("%s, %v", answer, err)
		}
		if len(seen.events) != 3 || seen.count(idempotent.OutcomeFailed) != 1 {
			t.Errorf("observed %+v", seen.events)
		}
	})
}
