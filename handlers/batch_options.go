package handlers

import (
	"cmp"
	"context"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// EventOptions are the options of the sources that take no report of single
// records: [SNS], [EventBridge], [S3], [RabbitMQ] and [ActiveMQ]. The zero
// value of every field stands for its default, and a nil *EventOptions for all
// of them.
type EventOptions struct {
	// Ahead is how many records are claimed before their turn: their requests to
	// the store are then on the way together, and not one by one. Their
	// functions still run in the order and concurrency that this handler
	// promises. A crash leaves the claims until their leases end, and each then
	// costs a takeover. A window needs about 25 KB a record. Nothing is claimed
	// ahead with Config.MaxAttempts or Config.Optimistic. Set it to -1 if fn
	// itself calls the executor with the key of a later record of the event.
	// Default 10; a negative number claims each record in its turn.
	Ahead int

	// Concurrency is how many records of an event run at once. Default 1.
	Concurrency int

	// HideErrorText hides the text of handlers' own errors in the log line that
	// OnFailure writes by default, which then contains their type instead. Set
	// it if these texts quote data that must not be logged. An executor with a
	// Config.Sealer hides them in any case. Default false.
	HideErrorText bool

	// Margin is the time left below which no further record starts. It counts
	// back from the handlers' deadline, which is Config.Reserve before the
	// invocation's. Set it longer than the slowest handler takes: a handler that
	// is cut off after its effect runs again. A Margin that leaves no room to
	// start fails the invocation with a [*MarginError]. Default 1 s, and at most
	// half of the time that the handlers have.
	Margin time.Duration

	// OnFailure receives every record that is not done, when the event has been
	// handled. It must not panic. Default: a line on [slog.Default] with the
	// error's text, cut to 1 KiB, and the stack of a panic.
	OnFailure func(context.Context, *RecordError)

	// Unrecorded is how many functions may have begun while their completion is
	// not recorded yet: as many can run a second time after a crash. A larger
	// number lets the next function start while the completion of the one before
	// it is on its way. Records that run in order always wait for it. Default
	// Concurrency.
	Unrecorded int

	// Wait is how long a record waits, within the Margin, for a duplicate that
	// is running. Default: until the end of the invocation.
	Wait time.Duration
}

func newEventBatch[D any](s source, x *idempotent.Executor, key func(D) (idempotent.Key, error), fn func(context.Context, D) error, o *EventOptions) *batch[D] {
	if o == nil {
		o = &EventOptions{}
	}
	return newBatch(s, x, key, fn, *o)
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

const (
	// defaultAhead is how many idle connections the SDK's HTTP client keeps to
	// one host: more claims at once would open new ones each time.
	defaultAhead = 10
	// wholeInvocation is longer than any invocation.
	wholeInvocation = time.Hour
)

func (o EventOptions) check(source string, mistakes *driver.Mistakes) {
	refuse := func(wrong bool, field string, value any) {
		mistakes.If(wrong, "handlers: %s: the option %s is %v; it must not be negative", source, field, value)
	}
	refuse(o.Concurrency < 0, "Concurrency", o.Concurrency)
	refuse(o.Unrecorded < 0, "Unrecorded", o.Unrecorded)
	refuse(o.Margin < 0, "Margin", o.Margin)
	refuse(o.Wait < 0, "Wait", o.Wait)
	mistakes.Unit("handlers: "+source+": the option Margin", o.Margin)
	mistakes.Unit("handlers: "+source+": the option Wait", o.Wait)
}

// filled returns o with its defaults, but for the Margin, whose default depends on the
// time left.
func (o EventOptions) filled() EventOptions {
	o.Ahead = max(cmp.Or(o.Ahead, defaultAhead), 0)
	o.Concurrency = max(o.Concurrency, 1)
	if hide := o.HideErrorText; o.OnFailure == nil {
		o.OnFailure = func(ctx context.Context, e *RecordError) { e.Log(ctx, hide) }
	}
	o.Unrecorded = cmp.Or(o.Unrecorded, o.Concurrency)
	o.Wait = cmp.Or(o.Wait, wholeInvocation)
	return o
}

// lastStart returns the time after which no record is started, for handlers
// with the given deadline. The zero time sets no limit.
func (o EventOptions) lastStart(source string, deadline time.Time) (time.Time, error) {
	if deadline.IsZero() {
		return time.Time{}, nil
	}
	lastStart, margin, left := lanes.LastStart(deadline, o.Margin)
	if left <= margin {
		return time.Time{}, &MarginError{Source: source, Margin: margin, Left: left}
	}
	return lastStart, nil
}
