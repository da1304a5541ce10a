package handlers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// Two tenants may use the same ids. One does not wait for the other's message.
func TestEqualIDsOfTwoScopesDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := handlers.SQS(newExecutor(t, memory.New(0), nil), func(m handlers.SQSMessage[order]) (idempotent.Key, error) {
			return idempotent.Key{Scope: m.Source.MessageId, ID: m.Body.ID}, nil
		}, func(context.Context, handlers.SQSMessage[order]) error {
			time.Sleep(time.Second)
			return nil
		}, &handlers.SQSOptions{Concurrency: 2, OnFailure: quiet})
		begun := time.Now()
		answer, err := deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"}), message("m1", order{ID: "o0"})))
		if err != nil || len(reportedIDs(t, answer)) != 0 {
			t.Errorf("%s, %v", answer, err)
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("the two took %v", took)
		}
	})
}
