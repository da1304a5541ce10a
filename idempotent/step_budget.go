package idempotent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/form"
)

const (
	// The room for the failure note, sealed or not: with its whole message; with
	// a part of it, if a result needs the rest; and with none, after a step
	// whose result has no room at all.
	comfortableBudget = 6 << 10
	leastBudget       = 2 << 10
	shortestBudget    = 512
)

// writeWithBudget writes steps and, beside them, the compensation budget of a
// large record: room for the failure note, and for a note of each step that can
// be undone. Steps may run at once, so writes that set the budget come one
// after the other: a delayed one must not take back the budget of a later one.
func (s *steps) writeWithBudget(ctx context.Context, values map[string][]byte, failureNote int) error {
	s.mu.Lock()
	before := s.know(values)
	_, large := form.Budget(s.known, s.request, failureNote)
	if large && s.budgetLock == nil {
		s.budgetLock = make(chan struct{}, 1)
	}
	handler, lock := s.handler, s.budgetLock
	s.mu.Unlock()
	if !large {
		return s.deliver(ctx, values, before)
	}
	select {
	case lock <- struct{}{}:
		defer func() { <-lock }()
	case <-handler.Done(): // the write has one try
	}
	s.mu.Lock()
	room, _ := form.Budget(s.known, s.request, failureNote)
	values[form.BudgetStep] = form.FillBudget(room)
	maps.Copy(before, s.know(map[string][]byte{form.BudgetStep: values[form.BudgetStep]}))
	s.mu.Unlock()
	return s.deliver(ctx, values, before)
}

// writeFailure stores the failure note, in the room reserved for it.
func (s *steps) writeFailure(ctx context.Context, f form.SagaFailure) error {
	if !s.mode.IsClaimed() {
		return nil
	}
	err := s.tryFailure(ctx, f)
	for _, limit := range []int{1 << 10, 256, 0} {
		if !errors.Is(err, driver.ErrTooLarge) {
			break
		}
		// Without the note nothing would be undone; a short one is enough.
		f.Shorten(limit)
		err = s.tryFailure(ctx, f)
	}
	return s.noteUnacknowledged(err)
}

func (s *steps) tryFailure(ctx context.Context, f form.SagaFailure) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	limited, cancel := s.handlerTime(ctx)
	defer cancel()
	e, err := s.x.encodeStored(limited, s.place(form.FailureStep), data)
	if e.Unavailable != "" {
		// A note without its data is useless.
		return &unreadable{reason: "the list of steps to undo: " + e.Unavailable, err: bare(err)}
	}
	if err != nil {
		s.tally.suppress(err)
	}
	note := map[string][]byte{form.FailureStep: form.EncodeStep(e)}
	s.mu.Lock()
	if len(s.known[form.BudgetStep]) > 0 {
		note[form.BudgetStep] = []byte{form.BudgetTag}
	}
	s.mu.Unlock()
	return s.write(ctx, note)
}

// writeUndone stores that a step is undone.
func (s *steps) writeUndone(ctx context.Context, full string) error {
	note := map[string][]byte{full: form.EncodeStep(form.Stored{})}
	err := s.write(ctx, note)
	if errors.Is(err, driver.ErrTooLarge) {
		// Nothing needs the result of the step any more.
		note[strings.TrimPrefix(full, form.UndoStep)] = form.Undoable(form.EncodeStep(form.Stored{Unavailable: "it is undone"}))
		err = s.write(ctx, note)
	}
	return err
}
