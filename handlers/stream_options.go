package handlers

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// StreamOptions holds the options of [Kinesis], [DynamoDBStream] and [Kafka],
// whose own type of a record is E. The zero value of every field stands for
// its default, and a nil *StreamOptions for all of them.
type StreamOptions[E any] struct {
	// Concurrency is how many records run at once. Those of one partition
	// key, item key or Kafka partition run in order all the same. Default 1.
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

	// OnFailure is told of every record that is not done, when the batch has
	// ended. It must not panic. Default: a line on [slog.Default] with
	// the error's text, in one line and cut after 1 KiB, and the stack of a
	// panic.
	OnFailure func(context.Context, *RecordError)

	// Poison takes a record over that fails at every delivery: its body does
	// not decode, it has no valid key, its error was [idempotent.Permanent],
	// its key was used for another payload, or needs a person. Send it
	// somewhere else; with a nil error it is acknowledged. It is called for
	// several records at once, and again for one that is delivered again
	// because of an earlier record.
	//
	// Default: the record is reported as failed, and blocks its shard or
	// partition until the mapping's bounded retries or the end of its life
	// send it to the OnFailure destination.
	Poison func(ctx context.Context, r E, err error) error

	// Wait is how long a record whose twin is running waits for the twin's
	// end, within the Margin. Default: as long as the invocation lasts, as
	// what follows has to wait anyway.
	Wait time.Duration
}

// newStreamBatch needs to know where the source's record is in what the
// handler takes.
func newStreamBatch[E, D any](s source, x *idempotent.Executor, key func(D) (idempotent.Key, error), fn func(context.Context, D) error, o *StreamOptions[E], of func(D) E) *batch[D] {
	if o == nil {
		o = &StreamOptions[E]{}
	}
	b := newBatch(s, x, key, fn, newPolicy(s.name, o.Concurrency, o.Margin, o.Wait, asLongAsItTakes, o.OnFailure, o.HideErrorText))
	if poison := o.Poison; poison != nil {
		b.poison = func(ctx context.Context, d D, err error) error { return poison(ctx, of(d), err) }
	}
	return b
}

// handleStream answers the record from which the stream has to be delivered
// again, -1 if none. Only the first counts, so nothing after it is started.
func (v *invocation[D]) handleStream(ctx context.Context, lane func(i int) string) (int, error) {
	lanes := inOrder(len(v.records))
	if v.policy.concurrency > 1 {
		lanes = byLane(len(v.records), lane)
	}
	ends := v.handle(ctx, schedule{lanes: lanes, halt: haltAfter})
	return first(ends), v.unnamed(ends)
}
