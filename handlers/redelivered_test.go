package handlers_test

import (
	"context"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// listed is a store that lists its calls.
type listed struct {
	driver.Store
	calls []string
}

func (l *listed) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	l.calls = append(l.calls, "claim")
	return l.Store.Create(ctx, r, cutoff, with)
}

func (l *listed) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	l.calls = append(l.calls, "change")
	return l.Store.Change(ctx, f, c)
}

func (l *listed) Get(ctx context.Context, id string) (driver.Record, error) {
	l.calls = append(l.calls, "read")
	return l.Store.Get(ctx, id)
}

// The record of a message that was delivered before is probably there, and a read
// costs less than a claim that fails.
func TestMessageThatWasDeliveredBeforeIsReadFirst(t *testing.T) {
	for _, ahead := range []int{-1, 0} {
		store, failing := &listed{Store: memory.New(0)}, false
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
			store.calls, failing = nil, delivery.failing
			answer, err := deliver(t.Context(), handler, sqsEvent(t, m))
			failed := len(reportedIDs(t, answer)) > 0
			check.Nil(t, err, ahead)
			check.Equal(t, failed, failing, ahead)
			check.Slice(t, store.calls, delivery.want, ahead)
		}
	}
}
