package handlers

import (
	"context"
	"slices"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
)

// batch runs the records of events of one source. D is the argument of
// the user's handler: a [Delivery], or the source's own record.
type batch[D any] struct {
	source  source
	x       *idempotent.Executor
	options batchSettings // with their defaults
	window  int           // how many records are claimed before their turn
	margin  time.Duration // Config.Margin
	// key is the user's. If it is nil, records have the source's own keys.
	key func(D) (idempotent.Key, error)
	run func(context.Context, *record[D]) error
	// poison receives a record that isPoison. With a nil error the record counts as
	// done.
	poison   func(context.Context, D, error) error
	isPoison func(error, *idempotent.Event) bool
	// late receives a record whose key comes too late. Only with a nil error it counts as
	// done, although nothing has run.
	late func(context.Context, D, *idempotent.KeyExpiredError) error
	// onConflict receives a record that comes back because its duplicate is
	// still running.
	onConflict func(context.Context, D, *idempotent.InProgressError) error
}

// source is where events come from.
type source struct {
	name string
	// eventSources are the values of its records' member eventSource. Records
	// without one, as in tests, are accepted.
	eventSources []string
	// reports says whether records that failed are reported by their id.
	reports bool
	// keyless says whether records have no key of their own.
	keyless bool
	// wait is how long a record waits for a duplicate in a different invocation, within
	// the margin. 0: until the end of the invocation.
	wait time.Duration
}

// record is one record of an event that is being handled.
type record[D any] struct {
	id          string // for reports and logs
	eventSource string
	delivery    D
	// key is the source's own until begin sets the user's. Its ID is empty
	// where the source has none.
	key idempotent.Key
	// chain is the chain key that came with the record, or "", text the innermost
	// body, and zero its type if it decoded to the zero value, or "".
	chain string
	text  []byte
	zero  string
	// err is why the record cannot run. The executor gets it in place of a
	// key, so that its observer sees it.
	err error
	// skip acknowledges the record without running it.
	skip bool
	// issued is when the innermost event was made, or the zero time if no source says so.
	issued time.Time
	// redelivered reports that the record has been delivered before.
	redelivered bool
	// turn is the record's place in its batch. began reports that its function
	// has begun.
	turn  *lanes.Turn
	began bool
	// event is the last call of the record, or nil.
	event *idempotent.Event
}

func newBatch[D any](s source, x *idempotent.Executor, key func(D) (idempotent.Key, error), fn func(context.Context, D) error, o batchSettings) *batch[D] {
	var mistakes driver.Mistakes
	mistakes.If(x == nil, "handlers: %s: the executor is nil", s.name)
	mistakes.If(fn == nil, "handlers: %s: the handler is nil", s.name)
	mistakes.If(x != nil && adapter.Resumes(x), "handlers: %s: the executor has Config.Resume; its source repeats what was left behind", s.name)
	mistakes.If(s.keyless && key == nil, "handlers: %s: the key function is nil, and messages have no key of their own", s.name)
	o.check(s.name, x, &mistakes)
	mistakes.Panic()
	return &batch[D]{
		source: s, x: x, options: o.withDefaults(), window: adapter.Ahead(x), margin: adapter.Margin(x), key: key,
		run: idempotent.WrapEffect(x,
			func(r *record[D]) (idempotent.Key, error) { return r.key, r.err },
			func(ctx context.Context, r *record[D]) error {
				if !adapter.ClaimsAhead(x) {
					r.turn.Prompt() // a crash uses up Config.MaxAttempts, or nothing is taken over
				} else if err := r.awaitRecorded(ctx); err != nil {
					return idempotent.Retryable(err) // it has not begun
				}
				r.began = true
				if err := fn(ctx, r.delivery); err != nil {
					return err // its undo functions run within its turn, too
				}
				r.turn.Returned()
				return nil
			}),
	}
}

// isFirst reports whether the function of a claim has not begun before.
func isFirst(ctx context.Context) bool {
	claim, _ := idempotent.FromContext(ctx)
	return claim.Attempt > 0 && !claim.Takeover()
}

// awaitRecorded lets a function that may have begun before wait for the completions of
// those that have returned. It may have ended its process. If it does so again, they
// would run again at each delivery.
func (r *record[D]) awaitRecorded(ctx context.Context) error {
	if isFirst(ctx) {
		return nil
	}
	return r.turn.AwaitRecorded(ctx)
}

// takeClaimed waits for the turn of a record that has claimed.
func (r *record[D]) takeClaimed(ctx context.Context) error {
	if !isFirst(ctx) {
		r.turn.Prompt()
	}
	if err := r.turn.TakeClaimed(ctx); err != nil {
		return err
	}
	return r.awaitRecorded(ctx) // here, its time is not the handler's
}

// invocation is one event that is being handled.
type invocation[D any] struct {
	*batch[D]
	records []record[D]
	// lastStart is the time after which no record is started. The zero time
	// sets no limit.
	lastStart time.Time
	// duplicates lists for each record the one before it with the same key.
	duplicates []int
}

// identity is equal for two keys of one record.
type identity struct{ scope, id, record string }

func identityOf(k idempotent.Key) identity { return identity{k.Scope, k.ID, k.Record} }

// begin decodes all records before any runs, because their keys decide which
// of them are duplicates.
func (b *batch[D]) begin(ctx context.Context, size int, read func(i int) record[D]) (*invocation[D], error) {
	deadline, _ := adapter.HandlerDeadline(ctx, b.x) // or the zero time
	lastStart, err := b.lastStart(deadline)
	v := &invocation[D]{batch: b, records: make([]record[D], size), lastStart: lastStart}
	if size == 0 {
		// An acknowledgement could lose the event of a different source.
		return nil, &NoRecordsError{Source: b.source.name, Record: -1}
	}
	if err != nil {
		return nil, err
	}
	keys := make([]identity, size)
	for i := range v.records {
		r := &v.records[i]
		*r = read(i)
		if r.eventSource != "" && !slices.Contains(b.source.eventSources, r.eventSource) {
			return nil, &NoRecordsError{Source: b.source.name, Record: i}
		}
		switch {
		case r.err != nil:
		case b.key != nil:
			r.err = guarded(func() (err error) { r.key, err = b.key(r.delivery); return err })
		case r.chain != "":
			r.key = chainID(r.chain, r.text)
		}
		if r.key.Issued.IsZero() {
			r.key.Issued = r.issued
		}
		if b.source.reports && r.id == "" {
			r.err = &NoIDError{}
		}
		if r.err == nil && !r.skip {
			keys[i] = identityOf(r.key)
		}
	}
	v.duplicates = lanes.Duplicates(keys)
	return v, nil
}
