package handlers

import (
	"context"
	"log/slog"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// shortRetention is how long SQS keeps a message by default. Brokers keep theirs
// until they are consumed.
const shortRetention = 4 * 24 * time.Hour

// warnOfRetention logs that a queue may deliver a message when its record has
// expired. The handler does not know how long its queue keeps messages.
func warnOfRetention(source string, x *idempotent.Executor) {
	if x.Retention() >= shortRetention {
		return
	}
	slog.Default().LogAttrs(context.Background(), slog.LevelWarn,
		"the records of a queue expire early, and a message that is delivered after that runs again; set Config.Retention to what the queue and its dead-letter queue keep together",
		slog.String("source", source), slog.String("operation", x.Operation()), slog.Duration("retention", x.Retention()))
}
