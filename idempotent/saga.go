package idempotent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// undo is what is called to undo a finished step.
type undo struct {
	name string
	data []byte // the step's encoded result
	fn   func(ctx context.Context, data []byte) error
}

// replayed returns the stored failure as later calls receive it.
func replayed(f *protocol.SagaFailure) error {
	e := ReplayedError(f.Failure)
	e.Compensated = f.Steps
	return &e
}

// readFailure finds out whether an earlier attempt has failed for good.
func (s *steps) readFailure(ctx context.Context) error {
	stored, ok := s.stored[protocol.FailureStep]
	if !ok {
		return nil
	}
	data, err := s.x.decodeStored(ctx, s.place(protocol.FailureStep), protocol.DecodeStep(stored))
	f := new(protocol.SagaFailure)
	if err == nil {
		err = json.Unmarshal(data, f)
	}
	if err != nil {
		return &ResultUnavailableError{KeyHash: s.hash, Failed: true, Reason: "what of it is to be undone cannot be read", Err: err}
	}
	s.failed = f
	return nil
}

// failForGood undoes what there is to undo, and stores the failure.
func (c *call) failForGood(ctx context.Context, l *lease, cause error) ending {
	undone, err := c.compensate(ctx, l, cause)
	c.event.Permanent = err == nil // until all is undone, another attempt has to go on
	switch unacknowledged := l.in.steps.unacknowledged(); {
	case err == nil:
		return c.fail(ctx, l, cause, undone)
	case unacknowledged != nil:
		return c.keepClaimed(unacknowledged, cause)
	default:
		// An error class set by an undo function does not apply to an encodingTime
		// call.
		l.in.outer.noteInner(err)
		return c.release(ctx, l, err, false)
	}
}

// toUndo gives what is to be undone, in that order.
func (s *steps) toUndo() []undo {
	s.mu.Lock()
	defer s.mu.Unlock()
	undos := slices.Clone(s.undos)
	slices.Reverse(undos)
	return undos
}

// FinishedSagaSteps returns the number of finished steps that would be undone,
// for package adapter.
func (in *inside) FinishedSagaSteps() int { return len(in.steps.toUndo()) }

// compensateOpenly undoes in a run without a record. Nobody goes on from there,
// so that one that cannot be undone is no reason to leave the others.
func (c *call) compensateOpenly(ctx context.Context, in *inside, cause error) error {
	var first error
	undos := in.steps.toUndo()
	in.steps.fail(&protocol.SagaFailure{})
	for _, u := range undos {
		err := c.openly(ctx, in, func(ctx context.Context) error { return in.undo(ctx, u.name, undos) })
		if err != nil {
			in.outer.noteInner(err)
			failed := &CompensationError{KeyHash: c.hash, Step: u.name, Err: err, Cause: bare(cause)}
			if first == nil {
				first = failed
				continue
			}
			c.suppress(failed)
		}
	}
	if first != nil {
		return first
	}
	return cause
}

// unreached is a finished step that has to be undone, and that this run of the
// handler has not reached: "" for none. The function that would undo it is not
// known.
func (s *steps) unreached(undos []undo) string {
	var missing []string
	for name, stored := range s.stored {
		_, undone := s.stored[protocol.UndoStep+name]
		reached := slices.ContainsFunc(undos, func(u undo) bool { return u.name == name })
		if protocol.IsUndoable(stored) && !undone && !reached {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return slices.Min(missing)
}

// compensate undoes the finished steps of a call that has failed for good, and
// returns their names.
func (c *call) compensate(ctx context.Context, l *lease, cause error) (names []string, err error) {
	in := l.in
	s := &in.steps
	unacknowledged := s.unacknowledged() // before what is to undo: a step may be about to add to it
	undos := s.toUndo()
	if name := s.unreached(undos); name != "" && s.failed == nil {
		return nil, &CompensationError{KeyHash: c.hash, Step: name, Err: notReached(name), Cause: bare(cause)}
	}
	if s.failed == nil && len(undos) == 0 && (unacknowledged == nil || unacknowledged.Err != errStillRuns) {
		return nil, nil
	}
	if unacknowledged != nil {
		// Whether there is one more to undo is for the next attempt to see.
		return nil, unacknowledged
	}
	for _, u := range undos {
		names = append(names, u.name)
	}
	if s.failed != nil {
		names = s.failed.Steps
	}
	if l.committed && !l.unconfirmed {
		if err := c.reclaim(ctx, l); err != nil {
			return nil, &CompensationError{KeyHash: c.hash, Step: names[0], Err: err, Cause: bare(cause)}
		}
	}
	begun := s.failed != nil
	if !begun {
		s.fail(&protocol.SagaFailure{Failure: describeFailure(cause), Steps: names})
	}
	err = c.underLease(ctx, l, func(ctx context.Context) error {
		if !begun {
			if err := in.beginUndoing(ctx); err != nil {
				return &CompensationError{KeyHash: c.hash, Step: names[0], Err: err, Cause: bare(cause)}
			}
		}
		for _, name := range names {
			if err := in.undo(ctx, name, undos); err != nil {
				return &CompensationError{KeyHash: c.hash, Step: name, Err: err, Cause: bare(cause)}
			}
		}
		return nil
	})
	return names, err
}

// fail keeps what the handler has left running from beginning a step. It comes
// before the steps are open again: nobody would undo that one.
func (s *steps) fail(f *protocol.SagaFailure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = f
}

func (in *inside) beginUndoing(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return in.steps.writeFailure(ctx, *in.steps.failed)
}

func (in *inside) undo(ctx context.Context, name string, undos []undo) error {
	at := slices.IndexFunc(undos, func(u undo) bool { return u.name == name })
	if _, done := in.steps.stored[protocol.UndoStep+name]; done {
		return nil
	}
	if at < 0 {
		return notReached(name)
	}
	run := func(ctx context.Context) error { return undos[at].fn(ctx, undos[at].data) }
	return in.stepAs(ctx, protocol.UndoStep+name, &step{name: protocol.UndoStep + name, work: undoing(run)})
}

func notReached(name string) error {
	return &StepError{Step: name, Reason: "it has to be undone, and the handler no longer reaches it"}
}

// undoing is the work of a step that undoes another.
type undoing func(context.Context) error

func (u undoing) hasResult() bool               { return false }
func (u undoing) run(ctx context.Context) error { return u(ctx) }
func (u undoing) encode() ([]byte, error)       { return []byte("null"), nil }
func (u undoing) decode([]byte) error           { return nil }
