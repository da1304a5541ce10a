package handlers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A queue keeps a message for days, and the default retention is one day.
func TestQueueHandlerSaysOnceThatItsRecordsExpireEarly(t *testing.T) {
	byID := func(handlers.RabbitMQMessage[order]) (idempotent.Key, error) { return idempotent.Key{ID: "k"}, nil }
	for name, make := range map[string]func(x *idempotent.Executor) any{
		"sqs": func(x *idempotent.Executor) any {
			return handlers.SQS(x, nil, func(context.Context, handlers.SQSMessage[order]) error { return nil }, nil)
		},
		"rabbitmq": func(x *idempotent.Executor) any {
			return handlers.RabbitMQ(x, byID, func(context.Context, handlers.RabbitMQMessage[order]) error { return nil }, nil)
		},
		"activemq": func(x *idempotent.Executor) any {
			return handlers.ActiveMQ(x, nil, func(context.Context, handlers.ActiveMQMessage[order]) error { return nil }, nil)
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
				text, _ := line["msg"].(string)
				if line["level"] != "WARN" || line["source"] != name || line["operation"] != "create-payment" || !strings.Contains(text, "Config.Retention") {
					t.Errorf("%s, %v: logged %v", name, retention, line)
				}
			}
		}
	}
}
