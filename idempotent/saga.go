package idempotent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lambda-once/once/internal/form"
)

// replayed returns the stored failure as later calls receive it.
func replayed(f *form.SagaFailure) error {
	e := ReplayedError(f.Failure)
	e.Compensated = f.Steps
	return &e
}

// readFailure reads the failure note of an earlier attempt.
func (s *steps) readFailure(ctx context.Context, stored []byte) error {
	data, err := s.x.decodeStored(ctx, s.place(form.FailureStep), form.DecodeStep(stored))
	f := new(form.SagaFailure)
	if err == nil {
		err = json.Unmarshal(data, f)
	}
	if err != nil {
		return &ResultUnavailableError{RecordID: s.shown, Failed: true, Reason: "the list of steps to undo cannot be read", Err: err}
	}
	s.failed = f
	return nil
}

// toUndo returns the steps to undo, in that order.
func (s *steps) toUndo() []undo {
	s.mu.Lock()
	defer s.mu.Unlock()
	undos := slices.Clone(s.undos)
	slices.Reverse(undos)
	return undos
}

// FinishedSagaSteps returns the number of finished steps that can be undone,
// for package adapter.
func (f *frame) FinishedSagaSteps() int { return len(f.steps.toUndo()) }

// undoOpenly undoes the steps of a run without a record. No later attempt
// continues, so an error of one undo function stops none of the rest.
func (c *call) undoOpenly(ctx context.Context, l *lease, cause error) error {
	f := l.frame
	var first error
	undos := f.steps.toUndo()
	f.steps.fail(&form.SagaFailure{})
	for _, u := range undos {
		err := c.underLease(ctx, l, func(ctx context.Context) error { return f.undo(ctx, u.name, undos) })
		if err != nil {
			c.outer.noteInner(err)
			failed := &CompensationError{RecordID: c.shown, Step: u.name, Err: err, Cause: bare(cause)}
			if first == nil {
				first = failed
				continue
			}
			c.tally.suppress(failed)
		}
	}
	if first != nil {
		return first
	}
	return cause
}

// unreached returns a finished step that has to be undone and that this run of
// the handler has not reached, or "". Its undo function is unknown.
func (s *steps) unreached(undos []undo) string {
	var missing []string
	for name, stored := range s.stored {
		_, undone := s.stored[form.UndoStep+name]
		reached := slices.ContainsFunc(undos, func(u undo) bool { return u.name == name })
		if form.IsUndoable(stored) && !undone && !reached {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return slices.Min(missing)
}

// compensate undoes the finished steps of a call that failed for good, and
// returns their names.
func (c *call) compensate(ctx context.Context, l *lease, cause error) (names []string, err error) {
	f := l.frame
	s := &f.steps
	unacknowledged := s.unacknowledged() // before toUndo: a running step may add to it
	undos := s.toUndo()
	if name := s.unreached(undos); name != "" && s.failed == nil {
		return nil, &CompensationError{RecordID: c.shown, Step: name, Err: notReached(name), Cause: bare(cause)}
	}
	if s.failed == nil && len(undos) == 0 && (unacknowledged == nil || unacknowledged.Err != errStillRuns) {
		return nil, nil
	}
	if unacknowledged != nil {
		// There may be one more to undo: the next attempt sees it.
		return nil, unacknowledged
	}
	for _, u := range undos {
		names = append(names, u.name)
	}
	if s.failed != nil {
		names = s.failed.Steps
	}
	if (l.committed || c.mode.IsDurable()) && c.mode.IsClaimed() {
		if err := c.reclaim(ctx, l); err != nil {
			return nil, &CompensationError{RecordID: c.shown, Step: names[0], Err: err, Cause: bare(cause)}
		}
		c.attempt = l.record.Attempt
	}
	begun := s.failed != nil
	if !begun {
		s.fail(&form.SagaFailure{Failure: describeFailure(cause), Steps: names})
	}
	err = c.underLease(ctx, l, func(ctx context.Context) error {
		if !begun {
			err := context.Cause(ctx)
			if err == nil {
				err = s.writeFailure(ctx, *s.failed)
			}
			if err != nil {
				return &CompensationError{RecordID: c.shown, Step: names[0], Err: err, Cause: bare(cause)}
			}
		}
		return f.undoAll(ctx, names, undos, cause)
	})
	return names, err
}

// undoAll undoes steps in this order. It leaves a step whose result is unavailable for
// good, because no attempt can undo it, and returns its error after the rest is
// undone. An error of a different kind
// stops it.
func (f *frame) undoAll(ctx context.Context, names []string, undos []undo, cause error) error {
	var firstLost error
	for _, name := range names {
		err := f.undo(ctx, name, undos)
		if err == nil {
			continue
		}
		lost := slices.ContainsFunc(undos, func(u undo) bool { return u.name == name && u.lost })
		failed := &CompensationError{RecordID: f.steps.shown, Step: name, Err: err, Cause: bare(cause), lost: lost}
		switch {
		case !lost && firstLost != nil:
			f.steps.tally.suppress(firstLost)
			return failed
		case !lost:
			return failed
		case firstLost == nil:
			firstLost = failed
		default:
			f.steps.tally.suppress(failed)
		}
	}
	return firstLost
}

// fail stops the handler's goroutines from beginning a step that would never be
// undone. It is called before the steps are open again.
func (s *steps) fail(f *form.SagaFailure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = f
}

func (f *frame) undo(ctx context.Context, name string, undos []undo) error {
	at := slices.IndexFunc(undos, func(u undo) bool { return u.name == name })
	if _, done := f.steps.stored[form.UndoStep+name]; done {
		return nil
	}
	if at < 0 {
		return notReached(name)
	}
	run := func(ctx context.Context) error { return undos[at].fn(ctx, undos[at].data) }
	return f.stepAs(ctx, form.UndoStep+name, &step{name: form.UndoStep + name, work: undoing(run)})
}

func notReached(name string) error {
	return &StepError{Step: name, Reason: "the handler no longer reaches it, and it has to be undone"}
}

// undoing is the work of a step that undoes an earlier one.
type undoing func(context.Context) error

func (u undoing) hasResult() bool               { return false }
func (u undoing) run(ctx context.Context) error { return u(ctx) }
func (u undoing) encode() ([]byte, error)       { return []byte("null"), nil }
func (u undoing) decode([]byte) error           { return nil }

// A CompensationError reports that a call failed for good, and that not all of
// its finished steps are undone (see [SagaStep]). Retry: the retry continues to
// undo, unless Err is the [*ResultUnavailableError] of a step that only a person
// can undo. If Config.MaxAttempts leaves no attempt, calls return an
// [*OutcomeUnknownError], and a person has to act.
type CompensationError struct {
	RecordID string
	Step     string // that is not undone
	Err      error  // why it is not
	Cause    error  // the error that the call failed with

	lost bool // no attempt can undo the step
}

func (e *CompensationError) Error() string {
	advice := "retry to continue"
	if e.lost {
		advice = "undo it by hand, and resolve the record"
	}
	return fmt.Sprintf("idempotent: the call of key %s failed for good, and its step %q is not undone; %s: %v", e.RecordID, e.Step, advice, e.Err)
}

// SafeText returns the text, without that of the undo function's error.
func (e *CompensationError) SafeText() string {
	return fmt.Sprintf("idempotent: step %q is not undone: %s", e.Step, SafeText(e.Err))
}

// Is reports whether target is [ErrCompensation].
func (e *CompensationError) Is(target error) bool { return target == ErrCompensation }

// Unwrap returns Err. Cause is not part of the tree: it is final, and this error
// is not.
func (e *CompensationError) Unwrap() error { return e.Err }
