package handlers

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// batch runs the records of events of one source. D is what the user's
// handler takes: a [Delivery], or the source's own record.
type batch[D any] struct {
	source source
	x      *idempotent.Executor // nil: the records run without one
	policy policy
	// key is the user's; nil for the source's own keys.
	key func(D) (idempotent.Key, error)
	run func(context.Context, *record[D]) error
	// poison takes a record over that can never succeed: with a nil error it
	// counts as done.
	poison func(context.Context, D, error) error
	// onConflict is told of a record that comes back because its twin is
	// still running.
	onConflict func(context.Context, D, *idempotent.InProgressError) error
}

// source is where events come from.
type source struct {
	name string
	// marks are what its records say of their source. Those that say
	// nothing, as in tests, are taken for its.
	marks []string
	// reports is whether records that failed are reported by their id.
	reports bool
}

// record is one record of an event on its way.
type record[D any] struct {
	id       string // as it is reported and shown
	mark     string
	delivery D
	// key is at first the source's own, without ID where it has none.
	key idempotent.Key
	// chain is the chain key that came with the record, or "", and text what
	// its handler is for: the innermost body.
	chain string
	text  []byte
	// err is why the record cannot run. It is given to the executor in place
	// of a key, so that its observer sees it.
	err error
	// skip acknowledges the record without running it.
	skip bool
}

func newBatch[D any](s source, x *idempotent.Executor, key func(D) (idempotent.Key, error), fn func(context.Context, D) error, p policy) *batch[D] {
	if x == nil || fn == nil {
		panic("handlers: " + s.name + ": the executor or the handler is nil")
	}
	// What the executor encrypts is not for a log.
	p.hideText = p.hideText || x.Seals()
	return &batch[D]{
		source: s, x: x, policy: p, key: key,
		run: idempotent.WrapEffect(x,
			func(r *record[D]) (idempotent.Key, error) { return r.key, r.err },
			func(ctx context.Context, r *record[D]) error { return fn(ctx, r.delivery) }),
	}
}

// invocation is one event on its way.
type invocation[D any] struct {
	*batch[D]
	records []record[D]
	// lastStart is the time after which no record is started; the zero time
	// is no limit.
	lastStart time.Time
	twins     twins
}

// begin decodes all records before any runs, as their keys decide which of
// them are one.
func (b *batch[D]) begin(ctx context.Context, size int, read func(i int) record[D]) (*invocation[D], error) {
	lastStart, err := b.policy.lastStart(b.source.name, b.handlersEnd(ctx))
	v := &invocation[D]{batch: b, records: make([]record[D], size), lastStart: lastStart}
	if size == 0 {
		// To acknowledge it could lose what another source has sent.
		return nil, &NoRecordsError{Source: b.source.name, Record: -1}
	}
	if err != nil {
		return nil, err
	}
	for i := range v.records {
		r := &v.records[i]
		*r = read(i)
		if r.mark != "" && !slices.Contains(b.source.marks, r.mark) {
			return nil, &NoRecordsError{Source: b.source.name, Record: i}
		}
		switch {
		case r.err != nil:
		case b.key != nil:
			r.err = guarded(func() (err error) { r.key, err = b.key(r.delivery); return err })
		case r.chain != "":
			r.key = chainID(r.chain, r.text)
		}
		if b.source.reports && r.id == "" {
			r.err = &NoIDError{}
		}
	}
	v.twins = findTwins(v.records)
	return v, nil
}

// handlersEnd is when the handlers of an invocation have to end, the zero time
// if they need not.
func (b *batch[D]) handlersEnd(ctx context.Context) time.Time {
	deadline, ok := ctx.Deadline()
	if b.x != nil {
		deadline, ok = b.x.HandlerDeadline(ctx)
	}
	if !ok {
		return time.Time{}
	}
	return deadline
}

// handle runs the records and answers how each ended.
func (v *invocation[D]) handle(ctx context.Context, s schedule) []error {
	ends := s.run(ctx, len(v.records), v.policy.concurrency, v.lastStart, v.one)
	for i, err := range ends {
		if err != nil {
			v.policy.failed(ctx, v.failure(i, err))
		}
	}
	return ends
}

// one keeps whatever goes wrong within its record: the others are no less
// done.
func (v *invocation[D]) one(ctx context.Context, i int) error {
	r := &v.records[i]
	if r.skip {
		return nil
	}
	leave, err := v.twins.enter(ctx, r.key, v.lastStart)
	if err != nil {
		return err
	}
	defer leave()
	return guarded(func() error { return v.attempt(ctx, r) })
}

func (v *invocation[D]) attempt(ctx context.Context, r *record[D]) error {
	if r.chain != "" {
		ctx = idempotent.WithChain(ctx, r.chain)
	}
	withEvent, event := idempotent.WithEvent(v.waiting(ctx))
	err := readable(guarded(func() error { return v.run(withEvent, r) }))
	if err == nil {
		return nil
	}
	var aside error // what went wrong with what is done about err
	option := "Poison"
	running, conflict := err.(*idempotent.InProgressError)
	switch {
	case v.poison != nil && hopeless(err, event):
		if aside = guarded(func() error { return v.poison(ctx, r.delivery, err) }); aside == nil {
			return nil
		}
	case v.onConflict != nil && conflict && event.Outcome == idempotent.OutcomeConflict:
		option = "Visibility"
		aside = guarded(func() error { return v.onConflict(ctx, r.delivery, running) })
	}
	if aside != nil {
		return &OptionError{Option: option, Err: readable(aside), Record: err}
	}
	return err
}

// waiting gives the context of one record: its wait for a twin in another
// invocation ends while others can be started.
func (v *invocation[D]) waiting(ctx context.Context) context.Context {
	wait := v.policy.wait
	if !v.lastStart.IsZero() {
		wait = min(wait, time.Until(v.lastStart))
	}
	return idempotent.WithWait(ctx, max(wait, 0))
}

// hopeless reports whether every further delivery would fail as this one did.
// The event decides before the error does: a handler may return that of a call
// of its own.
func hopeless(err error, event *idempotent.Event) bool {
	if _, unfinished := err.(*idempotent.CompensationError); unfinished {
		return false // the next delivery goes on undoing
	}
	if event.Permanent {
		return true
	}
	if event.Attempt > 0 { // the handler ran
		return event.Outcome == idempotent.OutcomeLeaseLost && errors.Is(err, idempotent.ErrReplayed)
	}
	switch event.Outcome {
	case idempotent.OutcomeReplayed, idempotent.OutcomeMismatch:
		return true
	case idempotent.OutcomeUnknown:
		return errors.Is(err, idempotent.ErrOutcomeUnknown)
	case idempotent.OutcomeFailed:
		// Refused before it ran. Other errors of a key function, and its
		// panics, may pass.
		for _, refusal := range []error{ErrDecode, idempotent.ErrMissingKey, idempotent.ErrInvalidKey, idempotent.ErrInvalidPayload} {
			if errors.Is(err, refusal) {
				return true
			}
		}
	}
	return false
}
