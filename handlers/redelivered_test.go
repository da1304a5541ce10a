package handlers_test

import (
	"context"
	"testing"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The record of a message that was delivered before is probably there, and a read
// costs less than a claim that fails.
func TestMessageThatWasDeliveredBeforeIsReadFirst(t *testing.T) {
	for _, ahead := range []int{-1, 0} {
		var calls []string
		failing := false
		store := intercepted{memory.New(0), func(_ context.Context, c storeCall, call func() error) error {
			calls = append(calls, c.op)
			return call()
		}}
		handler := handlers.SQS(newExecutor(t, store, nil), orderID, func(context.Context, handlers.SQSMessage[order]) error {
			if failing {
				return errOutOfStock
			}
			return nil
		}, &handlers.SQSOptions{Ahead: ahead, OnFailure: quiet})
		for _, delivery := range []struct {
			order, count string
			failing      bool
			want         []string
		}{
			{"1", "", false, []string{"claim", "change"}},
			{"2", "1", false, []string{"claim", "change"}},
			{"2", "2", false, []string{"read"}},
			{"3", "1", true, []string{"claim", "change"}},
			{"3", "2", false, []string{"read", "claim", "change"}},
			{"3", "3", false, []string{"read"}},
		} {
			m := message("m", order{ID: delivery.order})
			if delivery.count != "" {
				m.Attributes = map[string]string{"ApproximateReceiveCount": delivery.count}
			}
			calls, failing = nil, delivery.failing
			reports(t, t.Context(), handler, batch{m}, map[bool]string{true: "m"}[failing], ahead)
			check.Slice(t, calls, delivery.want, ahead)
		}
	}
}
