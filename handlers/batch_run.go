package handlers

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/handlers/internal/lanes"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
)

// handle runs the records and returns the result of each.
func (v *invocation[D]) handle(ctx context.Context, s lanes.Schedule) []error {
	s.Duplicates = v.duplicates
	o := &v.options
	runner := lanes.Runner{Concurrency: o.concurrency, Unrecorded: o.unrecorded, Ahead: v.window, LastStart: v.lastStart, Errors: notRun}
	results := runner.Run(ctx, s, len(v.records), v.one)
	for i, err := range results {
		if err != nil {
			o.onFailure(ctx, v.recordError(i, err))
		}
	}
	return results
}

// one confines every failure to its record: the rest of the event goes on.
func (v *invocation[D]) one(ctx context.Context, turn *lanes.Turn) error {
	r := &v.records[turn.Index()]
	r.turn = turn
	return guarded(func() error { return v.attempt(ctx, r) })
}

// attempt calls the function of a record and then, in its turn, an option that
// takes the failure.
func (v *invocation[D]) attempt(ctx context.Context, r *record[D]) error {
	if r.skip {
		return r.turn.Take(ctx)
	}
	// The calls of an option belong to the record, too.
	ctx = adapter.With(ctx, adapter.Chain(r.chain), adapter.ReadFirst(r.redelivered), adapter.Waiting(r.turn.Yield), adapter.Sibling(r.turn.Arrive))
	event, err := v.ahead(ctx, r)
	if refused := r.turn.Take(ctx); refused != nil {
		return refused
	}
	if event == nil {
		hung := errors.Is(err, idempotent.ErrStore) && errors.Is(err, context.DeadlineExceeded)
		if hung && r.turn.Delayed() {
			return err // a second claim would take the time of the other records
		}
		event, err = v.call(adapter.With(ctx, adapter.Wait(v.wait()), adapter.LastStart(v.lastStart, errOutOfTime)), r)
	}
	if err = r.explained(err); err == nil {
		return nil
	}
	var optionErr error
	option := "Poison"
	running, conflict := err.(*idempotent.InProgressError)
	expired, late := err.(*idempotent.KeyExpiredError)
	switch {
	case v.poison != nil && v.isPoison(err, event):
		if optionErr = guarded(func() error { return v.poison(ctx, r.delivery, err) }); optionErr == nil {
			return nil
		}
	case v.late != nil && late && event.Outcome == idempotent.OutcomeExpired:
		option = "Late"
		if optionErr = guarded(func() error { return v.late(ctx, r.delivery, expired) }); optionErr == nil || optionErr == err {
			return optionErr // err itself has the record reported, and the option did not fail
		}
	case v.onConflict != nil && conflict && event.Outcome == idempotent.OutcomeConflict:
		option = "Visibility"
		optionErr = guarded(func() error { return v.onConflict(ctx, r.delivery, running) })
	}
	if optionErr != nil {
		return &OptionError{Option: option, Err: readable(optionErr), Record: err}
	}
	return err
}

// ahead claims a record that has begun before its turn, and runs its function in
// its turn. It returns no event, but the error, if the call is neither a run nor a
// replay: the record may have changed by then, and options must not be called before.
func (v *invocation[D]) ahead(ctx context.Context, r *record[D]) (*idempotent.Event, error) {
	if !r.turn.Ahead() || r.err != nil { // without a key there is nothing to claim
		return nil, nil
	}
	event, err := v.call(adapter.With(ctx, adapter.Turn(r.takeClaimed), adapter.Wait(0), adapter.LastStart(v.lastStart, errOutOfTime)), r)
	if !r.began && event.Outcome != idempotent.OutcomeReplayed {
		return nil, err
	}
	return event, err
}

func (v *invocation[D]) call(ctx context.Context, r *record[D]) (*idempotent.Event, error) {
	ctx, r.event = adapter.WithEvent(ctx)
	err := readable(guarded(func() error { return v.run(ctx, r) }))
	return r.event, err
}

// wait returns how long one record waits for a duplicate in a different invocation:
// the wait ends while other records can still be started.
func (v *invocation[D]) wait() time.Duration {
	const wholeInvocation = time.Hour // or longer
	wait := cmp.Or(v.source.wait, wholeInvocation)
	if !v.lastStart.IsZero() {
		wait = min(wait, time.Until(v.lastStart))
	}
	return max(wait, 0)
}

// neverSucceeds reports whether every further delivery would fail as this one
// did. The event decides before the error does: a handler may return the error
// of a call of its own.
func neverSucceeds(err error, event *idempotent.Event) bool {
	if _, unfinished := err.(*idempotent.CompensationError); unfinished {
		return false // the next delivery continues to undo
	}
	if event.Permanent {
		return true
	}
	if event.Attempt > 0 { // the handler ran
		return event.Outcome == idempotent.OutcomeLeaseLost && errors.Is(err, idempotent.ErrReplayed)
	}
	switch event.Outcome {
	case idempotent.OutcomeReplayed, idempotent.OutcomeRepeated, idempotent.OutcomeMismatch:
		return true
	case idempotent.OutcomeUnknown, idempotent.OutcomeForgotten:
		return errors.Is(err, idempotent.ErrOutcomeUnknown)
	case idempotent.OutcomeFailed:
		// Refused before it ran. Other errors of a key function, and its
		// panics, may not occur again.
		for _, refusal := range []error{ErrDecode, idempotent.ErrMissingKey, idempotent.ErrInvalidKey, idempotent.ErrInvalidPayload} {
			if errors.Is(err, refusal) {
				return true
			}
		}
	}
	return false
}

// isStored reports whether err is a permanent failure that is stored: a later delivery
// of the record, or a second message with its key, replays it.
func isStored(err error, event *idempotent.Event) bool {
	switch event.Outcome {
	case idempotent.OutcomeFailed:
		return event.Permanent
	case idempotent.OutcomeReplayed, idempotent.OutcomeRepeated:
		return true
	case idempotent.OutcomeLeaseLost:
		return errors.Is(err, idempotent.ErrReplayed)
	}
	return false
}

// failedIDs returns the ids of the records that failed. If a record has no id,
// the whole event must come back: Lambda takes no empty id.
func (v *invocation[D]) failedIDs(results []error) (ids []string, _ error) {
	if err := v.checkIDs(results); err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for i, err := range results {
		if id := v.records[i].id; err != nil && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// checkIDs fails the invocation if a record has no id.
func (v *invocation[D]) checkIDs(results []error) error {
	for i := range v.records {
		if v.records[i].id == "" {
			return v.batchError(results, "one of them has no id to report it by")
		}
	}
	return nil
}

// batchError returns the error of an invocation some of whose records failed.
func (v *invocation[D]) batchError(results []error, reason string) error {
	e := &BatchError{Reason: reason}
	for i, err := range results {
		if err != nil {
			e.Failed = append(e.Failed, v.recordError(i, err))
		}
	}
	if e.Failed == nil {
		return nil
	}
	return e
}

func (v *invocation[D]) recordError(i int, err error) *RecordError {
	failed := &RecordError{Source: v.source.name, Index: i, ID: v.records[i].id, Err: err, sealed: adapter.Seals(v.x)}
	failed.Event.Operation = v.x.Operation()
	if event := v.records[i].event; event != nil {
		failed.Event = *event
	}
	return failed
}

// identifiers returns a report of failures in the form of Lambda, and err. It is never
// nil, which would marshal as null.
func identifiers[F ~struct {
	ItemIdentifier string `json:"itemIdentifier"`
}](ids []string, err error) ([]F, error) {
	failures := make([]F, len(ids))
	for i, id := range ids {
		failures[i] = F{ItemIdentifier: id}
	}
	return failures, err
}
