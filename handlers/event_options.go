package handlers

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// EventOptions holds the options of the sources that take no report of single
// records: [SNS], [EventBridge], [S3], [RabbitMQ] and [ActiveMQ]. The zero
// value of every field stands for its default, and a nil *EventOptions for all
// of them.
type EventOptions struct {
	// Concurrency is how many records of an event run at once. Default 1.
	Concurrency int

	// HideErrorText hides the text of handlers' own errors in the line that
	// OnFailure writes by default: it has their type instead. Set it where
	// these texts quote what no log may hold. An executor with a
	// Config.Sealer hides them in any case. Default false.
	HideErrorText bool

	// Margin is the time left below which no further record is started. It
	// counts from the end of the handlers' time, which is Config.Reserve
	// before the invocation's. Set it to more than the slowest handler takes:
	// a handler that is cut off behind its effect is run again. A Margin that
	// leaves no room to start fails the invocation with a [*MarginError].
	// Default 1 s, and at most half of the time that the handlers have.
	Margin time.Duration

	// OnFailure is told of every record that is not done, when the event has
	// ended. It must not panic. Default: a line on [slog.Default] with
	// the error's text, in one line and cut after 1 KiB, and the stack of a
	// panic.
	OnFailure func(context.Context, *RecordError)

	// Wait is how long a record whose twin is running waits for the twin's
	// end, within the Margin. Default: as long as the invocation lasts.
	Wait time.Duration
}

func newEventBatch[D any](s source, x *idempotent.Executor, key func(D) (idempotent.Key, error), fn func(context.Context, D) error, o *EventOptions) *batch[D] {
	if o == nil {
		o = &EventOptions{}
	}
	return newBatch(s, x, key, fn, newPolicy(s.name, o.Concurrency, o.Margin, o.Wait, asLongAsItTakes, o.OnFailure, o.HideErrorText))
}

// handleAll succeeds when all records have. One that fails stops no other, so
// that fewer are left for the retry.
func (b *batch[D]) handleAll(ctx context.Context, size int, read func(i int) record[D]) error {
	v, err := b.begin(ctx, size, read)
	if err != nil {
		return err
	}
	ends := v.handle(ctx, schedule{lanes: apart(size)})
	return v.failed(ends, "the source takes no report of single records")
}
