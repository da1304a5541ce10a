package idempotent

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/idempotent/internal/protocol"
	"github.com/lambda-once/once/internal/form"
)

// finish stores the result of a finished step. It returns the encoded result,
// or nil if it is not stored.
func (s *steps) finish(ctx context.Context, full string, st *step) ([]byte, error) {
	if !s.mode.IsClaimed() {
		return nil, nil
	}
	if !st.hasResult() {
		return nil, s.noteUnacknowledged(s.writeUndone(ctx, full))
	}
	data, err := st.encode()
	e := form.Stored{Unavailable: "it could not be encoded"}
	if err == nil {
		limited, cancel := s.handlerTime(ctx)
		defer cancel()
		e, err = s.x.encodeStored(limited, s.place(full), data)
	}
	if err != nil {
		s.tally.suppress(err)
	}
	if e.Unavailable == "" {
		err = s.writeResult(ctx, full, st, e)
		if !errors.Is(err, driver.ErrTooLarge) {
			return data, s.noteUnacknowledged(err)
		}
		s.tally.suppress(err)
		e = form.Stored{Unavailable: "it was too large"}
	}
	room := leastBudget
	if st.undo != nil {
		room = shortestBudget
	}
	err = s.writeWithBudget(ctx, map[string][]byte{full: st.encoded(e)}, room)
	if err == nil && st.undo != nil {
		err = s.stop(&ResultUnavailableError{RecordID: s.shown, Step: full,
			Reason: e.Unavailable + ", so the call was stopped to undo the step; return less, or set Config.Payloads"})
	}
	return nil, s.noteUnacknowledged(err)
}

// writeResult writes a result beside the compensation budget, or into the
// payload store, or, if it can be undone, into a part of that budget. It
// returns driver.ErrTooLarge if there is no room.
func (s *steps) writeResult(ctx context.Context, full string, st *step, e form.Stored) error {
	write := func(e form.Stored, failureNote int) error {
		return s.writeWithBudget(ctx, map[string][]byte{full: st.encoded(e)}, failureNote)
	}
	err := write(e, comfortableBudget)
	if errors.Is(err, driver.ErrTooLarge) && e.Payload == "" && s.x.config.Payloads != nil {
		// It is small, and does not fit beside the steps before it.
		limited, cancel := s.handlerTime(ctx)
		defer cancel()
		limited, stop := s.x.encodingTime(limited)
		defer stop()
		if elsewhere, failed := s.x.spill(limited, e.Data); failed != nil {
			s.tally.suppress(failed)
		} else {
			e = elsewhere
			err = write(e, comfortableBudget)
		}
	}
	if errors.Is(err, driver.ErrTooLarge) && st.undo != nil {
		err = write(e, leastBudget)
	}
	return err
}

// stop ends a call with a finished step that no later attempt could undo. The
// attempt that ran it can: it has the result in memory.
func (s *steps) stop(because *ResultUnavailableError) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		s.stopped = because
	}
	return s.stopped
}

// noteUnacknowledged records the error of a write that may not have landed.
func (s *steps) noteUnacknowledged(err error) error {
	if errors.Is(err, driver.ErrTooLarge) { // there is not even room for a note
		err = &StoreError{Op: "step", Executed: true, Err: err}
	}
	if lost, ok := errors.AsType[*StoreError](err); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unrecorded = lost
	}
	return err
}

// handlerTime returns a context that ends with the handler's time. The step's
// own context may only bound the calls of the step.
func (s *steps) handlerTime(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if s.invocation.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, s.invocation.Add(-s.x.config.Reserve))
}

// write makes the fenced write of finished steps.
func (s *steps) write(ctx context.Context, values map[string][]byte) error {
	s.mu.Lock()
	before := s.know(values)
	s.mu.Unlock()
	return s.deliver(ctx, values, before)
}

// deliver sends a write of steps until the handler's time is up, and at least
// once. The step's own context may end as soon as the work is done. before is
// the earlier known value of these steps.
func (s *steps) deliver(ctx context.Context, values, before map[string][]byte) error {
	s.mu.Lock()
	handler, own, attempt := s.handler, driver.Record{Owner: s.owner}, s.attempt
	s.mu.Unlock()
	change := driver.Change{Steps: values}
	calls := storeCalls{x: s.x, tally: s.tally}
	result := calls.repeat(handler, &write{
		Policy: &protocol.Stepping, own: own,
		send: func(handler context.Context, _ protocol.Ruling, _ driver.Record) protocol.Reply {
			return s.send(ctx, handler, driver.Fence{ID: s.id, Owner: own.Owner}, change)
		},
	})
	switch result.Ruling {
	case protocol.Done:
		return nil
	case protocol.TooLarge:
		s.forget(values, before)
		return result.Err
	case protocol.Yield:
		lost := &LeaseLostError{RecordID: s.shown, Attempt: attempt}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cancel == nil {
			return &StoreError{Op: "step", Executed: true, Err: errors.Join(errStillRuns, lost)}
		}
		s.cancel(lost)
		return lost
	default:
		return &StoreError{Op: "step", Executed: true, Err: result.Err}
	}
}

// know adds the values that are about to be written to known, and returns those that
// they replace. The caller has locked s.mu.
func (s *steps) know(values map[string][]byte) (before map[string][]byte) {
	if s.known == nil {
		s.known = make(map[string][]byte)
	}
	before = make(map[string][]byte)
	for name := range values {
		if data, ok := s.known[name]; ok {
			before[name] = data
		}
	}
	maps.Copy(s.known, values)
	return before
}

// forget restores known after a write that was not applied.
func (s *steps) forget(values, before map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range values {
		delete(s.known, name)
	}
	maps.Copy(s.known, before)
}

// send is one try. It outlives the handler's context, which may end with the
// step.
func (s *steps) send(ctx, handler context.Context, f driver.Fence, change driver.Change) protocol.Reply {
	limit := bounds.LongestTry
	if deadline, ok := handler.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)/2), bounds.ShortestTry)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	r := replyOf(s.x.store.Change(ctx, f, change))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = true // perhaps, if there was no answer
	return r
}

var errStillRuns = errors.New("idempotent: the handler returned while a step was running; wait for it")

// unacknowledged returns the error of a step whose write may not have landed. A
// step that still runs when the handler returns is one.
func (s *steps) unacknowledged() *StoreError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unrecorded == nil && s.running > 0 {
		s.unrecorded = &StoreError{Op: "step", Executed: true, Err: errStillRuns}
	}
	return s.unrecorded
}

// left returns the reasons against the success of a run: an error for which nothing
// of the call may be committed; the failure of an earlier attempt or of this one; and
// the error of a step that only this run can undo.
func (s *steps) left() (misused error, failed *form.SagaFailure, stopped error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.misused, s.failed, s.stopped
}

// close ends the steps of a run: no further one begins.
func (s *steps) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = nil
}

// noteSent adds the steps that were sent to the record.
func (s *steps) noteSent(l *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written {
		l.stepped, l.record.Steps = true, maps.Clone(s.known)
	}
}
