package handlers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/lambda-once/once/idempotent"
)

// batch runs the records of events of one source. D is what the user's
// handler takes: a [Delivery], or the source's own record.
type batch[D any] struct {
	source string
	policy policy
	// key is the user's; nil for the source's own keys.
	key func(D) (idempotent.Key, error)
	run func(context.Context, *record[D]) (struct{}, error)
	// poison takes a record over that can never succeed: with a nil error it
	// counts as done.
	poison func(context.Context, D, error) error
	// onConflict is told of a record that comes back because its twin is
	// still running.
	onConflict func(context.Context, D, *idempotent.InProgressError) error
}

// record is one record of an event on its way.
type record[D any] struct {
	id       string // as it is reported and shown; "" cannot be reported
	delivery D
	// key is at first the source's own, without ID where it has none.
	key idempotent.Key
	// err is why the record cannot run. It is given to the executor in place
	// of a key, so that its observer sees it.
	err error
	// skip acknowledges the record without running it.
	skip bool
}

func newBatch[D any](source string, x *idempotent.Executor, key func(D) (idempotent.Key, error), fn func(context.Context, D) error, p policy) *batch[D] {
	if x == nil || fn == nil {
		panic("handlers: " + source + ": the executor or the handler is nil")
	}
	return &batch[D]{
		source: source, policy: p, key: key,
		run: idempotent.Wrap(x,
			func(r *record[D]) (idempotent.Key, error) { return r.key, r.err },
			func(ctx context.Context, r *record[D]) (struct{}, error) { return struct{}{}, fn(ctx, r.delivery) }),
	}
}

// receive decodes all records before any runs, as the keys decide which of
// them are one.
func (b *batch[D]) receive(size int, read func(i int) record[D]) ([]record[D], error) {
	if size == 0 {
		// To acknowledge it could lose what another source has sent.
		return nil, fmt.Errorf("%w of %s", ErrNoRecords, b.source)
	}
	records := make([]record[D], size)
	for i := range records {
		r := &records[i]
		if *r = read(i); r.err == nil && b.key != nil {
			r.err = guarded(func() (err error) { r.key, err = b.key(r.delivery); return err })
		}
		if r.skip = errors.Is(r.err, errSkipped); r.skip {
			r.err = nil
		}
	}
	return records, nil
}

// errSkipped is a decoder's word for a record that needs no handler.
var errSkipped = errors.New("handlers: nothing to do")

// handle runs the records and answers how each ended.
func (b *batch[D]) handle(ctx context.Context, records []record[D], s schedule) []error {
	ends := s.run(ctx, len(records), b.policy, func(ctx context.Context, i int) error {
		return b.one(ctx, &records[i])
	})
	for i, err := range ends {
		if err != nil {
			b.policy.onFailure(ctx, b.failure(records, i, err))
		}
	}
	return ends
}

func (b *batch[D]) one(ctx context.Context, r *record[D]) error {
	if r.skip {
		return nil
	}
	withEvent, event := idempotent.WithEvent(b.policy.waiting(ctx))
	err := guarded(func() error { _, err := b.run(withEvent, r); return err })
	running, conflict := errors.AsType[*idempotent.InProgressError](err)
	switch {
	case err == nil:
		return nil
	case b.poison != nil && hopeless(err, event.Outcome):
		failed := guarded(func() error { return b.poison(ctx, r.delivery, err) })
		if failed == nil {
			return nil
		}
		return errors.Join(err, failed)
	case b.onConflict != nil && conflict && event.Outcome == idempotent.OutcomeConflict:
		return errors.Join(err, guarded(func() error { return b.onConflict(ctx, r.delivery, running) }))
	default:
		return err
	}
}

// guarded keeps a panic within its record: the others are no less done.
func guarded(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return call()
}

// hopeless reports whether every further delivery would fail as this one did.
// The outcome decides before the type: a handler may return the error of a
// call of its own.
func hopeless(err error, outcome idempotent.Outcome) bool {
	switch outcome {
	case idempotent.OutcomeFailed:
		return !errors.Is(err, idempotent.ErrStore)
	case idempotent.OutcomeReplayed, idempotent.OutcomeMismatch:
		return true
	case idempotent.OutcomeUnknown:
		return errors.Is(err, idempotent.ErrOutcomeUnknown)
	case idempotent.OutcomeLeaseLost:
		return errors.Is(err, idempotent.ErrReplayed)
	}
	return false
}

func (b *batch[D]) failure(records []record[D], i int, err error) *RecordError {
	return &RecordError{Source: b.source, Index: i, ID: records[i].id, Err: err}
}

// failed fails the invocation for those that did not end well.
func (b *batch[D]) failed(records []record[D], ends []error, reason string) error {
	e := &BatchError{Reason: reason}
	for i, err := range ends {
		if err != nil {
			e.Failed = append(e.Failed, b.failure(records, i, err))
		}
	}
	if e.Failed == nil {
		return nil
	}
	return e
}
