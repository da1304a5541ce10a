package handlers

import (
	"context"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
)

// EventOptions are the options of the sources that take no report of single
// records: [SNS], [EventBridge], [S3], [RabbitMQ] and [ActiveMQ]. The zero
// value of every field stands for its default, and a nil *EventOptions for all
// of them. Config.Ahead and Config.Margin of the executor apply to batches, too.
type EventOptions struct {
	// Concurrency is how many records of an event run at once. Default 1.
	Concurrency int

	// OnFailure receives every record that is not done, when the event has been
	// handled. It must not panic. Default: [LogError]. [LogErrorText] adds the text
	// of handlers' own errors.
	OnFailure func(context.Context, *RecordError)
}

func newEventBatch[D any](s source, x *idempotent.Executor, key func(D) (idempotent.Key, error), fn func(context.Context, D) error, o *EventOptions) *batch[D] {
	if o == nil {
		o = &EventOptions{}
	}
	return newBatch(s, x, key, fn, batchSettings{concurrency: o.Concurrency, onFailure: o.OnFailure})
}

// handleAll succeeds if all records do. One that fails stops no other, so that
// fewer remain for the retry.
func (b *batch[D]) handleAll(ctx context.Context, size int, read func(i int) record[D]) error {
	v, err := b.begin(ctx, size, read)
	if err != nil {
		return err
	}
	results := v.handle(ctx, lanes.Schedule{})
	return v.batchError(results, "the source takes no report of single records")
}

// batchSettings are the options that several kinds of sources have.
type batchSettings struct {
	concurrency int
	// unrecorded is how many functions may have begun without a recorded completion, or 0
	// for concurrency.
	unrecorded int
	onFailure  func(context.Context, *RecordError)
	// blocksIfLate reports that a record that is refused as late would block those behind
	// it, because the option Late does not take it.
	blocksIfLate bool
}

func (o batchSettings) check(source string, x *idempotent.Executor, mistakes *driver.Mistakes) {
	refuse := func(field string, value int) {
		mistakes.If(value < 0, "handlers: %s: the option %s is %d; it must not be negative", source, field, value)
	}
	refuse("Concurrency", o.concurrency)
	refuse("Unrecorded", o.unrecorded)
	mistakes.If(o.blocksIfLate && x != nil && adapter.RefusesLate(x),
		"handlers: %s: Config.RefuseLate without the option Late: a refused record would block those behind it; store it elsewhere, or set handlers.ReportLate if the mapping bisects batches and has an OnFailure destination", source)
}

func (o batchSettings) withDefaults() batchSettings {
	o.concurrency = max(o.concurrency, 1)
	if o.onFailure == nil {
		o.onFailure = LogError
	}
	return o
}

// lastStart returns the time after which no record is started, for handlers
// with the given deadline. The zero time sets no limit.
func (b *batch[D]) lastStart(deadline time.Time) (time.Time, error) {
	if deadline.IsZero() {
		return time.Time{}, nil
	}
	lastStart, margin, left := lanes.LastStart(deadline, b.margin)
	if left <= margin {
		return time.Time{}, &MarginError{Source: b.source.name, Margin: margin, Left: left}
	}
	return lastStart, nil
}
