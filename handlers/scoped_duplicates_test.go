package handlers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
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
		check.Nil(t, err)
		check.Equal(t, len(reportedIDs(t, answer)), 0)
		check.Equal(t, time.Since(begun), time.Second)
	})
}
