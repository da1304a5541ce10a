package handlers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
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
		handler := handlers.SQS(newExecutor(t, store, &idempotent.Config{Ahead: ahead}), orderID, func(context.Context, handlers.SQSMessage[order]) error {
			if failing {
				return errOutOfStock
			}
			return nil
		}, &handlers.SQSOptions{OnFailure: quiet})
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

// A queue keeps a message for days, and the default retention is one day.
func TestQueueHandlerSaysOnceThatItsRecordsExpireEarly(t *testing.T) {
	s := &shop{}
	for name, make := range map[string]func(x *idempotent.Executor) any{
		"sqs": func(x *idempotent.Executor) any { return handlers.SQS(x, nil, place[events.SQSMessage](s), nil) },
		"rabbitmq": func(x *idempotent.Executor) any {
			return handlers.RabbitMQ(x, byID, place[events.RabbitMQMessage](s), nil)
		},
		"activemq": func(x *idempotent.Executor) any {
			return handlers.ActiveMQ(x, nil, place[events.ActiveMQMessage](s), nil)
		},
	} {
		for _, retention := range []time.Duration{0, 24 * time.Hour, 4 * 24 * time.Hour, 28 * 24 * time.Hour} {
			lines := logged(t, func() {
				handler := make(newExecutor(t, memory.New(0), &idempotent.Config{Retention: retention}))
				for range 2 {
					if name == "sqs" {
						_, _ = deliver(t.Context(), handler, sqsEvent(t, message("m0", order{ID: "o0"})))
					}
				}
			})
			long := retention > 24*time.Hour
			check.Equal(t, long, len(lines) == 0, name, retention)
			check.True(t, len(lines) <= 1, len(lines), name, retention)
			for _, line := range lines {
				isLine(t, line, map[string]any{"level": "WARN", "source": name, "operation": "create-payment"})
				check.Contains(t, fmt.Sprint(line["msg"]), "Config.Retention", name)
			}
		}
	}
}
