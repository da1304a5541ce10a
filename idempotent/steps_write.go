package idempotent

import (
	"context"
	"errors"
	"maps"
	"time"
)

// finish keeps the result of a step that was done. It answers the encoded
// result, nil where it is not kept.
func (s *steps) finish(ctx context.Context, full string, st *step) ([]byte, error) {
	if !s.keeps {
		return nil, nil
	}
	data, err := st.encode()
	e := enclosed{unavailable: "it could not be encoded"}
	if err == nil {
		limited, cancel := s.keeping(ctx)
		defer cancel()
		if e, err = s.x.enclose(limited, s.place(full), data); e.unavailable != "" {
			data = nil
		}
	}
	if full == failureStep && e.unavailable != "" {
		// It is no work that was done, and of no use without what it says.
		return nil, &undisclosed{reason: "what is to be undone: " + e.unavailable, err: unmarked(err)}
	}
	if err != nil {
		s.passOver(err)
	}
	err = s.write(ctx, full, st.marked(tagged(e)))
	if errors.Is(err, ErrTooLarge) && e.payload == "" && e.unavailable == "" && s.x.config.Payloads != nil {
		// Small by itself, it does not fit beside the other steps.
		err = s.writeElsewhere(ctx, full, st, e.data)
	}
	if errors.Is(err, ErrTooLarge) {
		s.passOver(err)
		data, err = nil, s.write(ctx, full, st.marked(tagged(enclosed{unavailable: "it was too large"})))
	}
	if err != nil && errors.Is(err, ErrTooLarge) { // there is not even room for that
		err = &StoreError{Op: "step", Executed: true, Err: err}
	}
	var unheard *StoreError
	if errors.As(err, &unheard) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unsettled = unheard
	}
	return data, err
}

// writeElsewhere answers ErrTooLarge also if there is no elsewhere.
func (s *steps) writeElsewhere(ctx context.Context, full string, st *step, data []byte) error {
	limited, cancel := s.keeping(ctx)
	defer cancel()
	limited, stop := s.x.enclosing(limited)
	defer stop()
	e, err := s.x.spill(limited, data)
	if err != nil {
		return errors.Join(ErrTooLarge, err)
	}
	return s.write(ctx, full, st.marked(tagged(e)))
}

// keeping gives a step that is done the time of the whole handler: the step's
// own context may be one that bounds what it calls.
func (s *steps) keeping(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if s.invocation.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, s.invocation.Add(-s.x.config.Reserve))
}

// longestRefusal is how long a write is repeated that the store refuses, and
// would refuse again: long enough for credentials that ran out to be renewed.
// A heartbeat that goes well could keep it going for ever.
const longestRefusal = 30 * time.Second

// write makes the fenced write of a finished step, as often as needed until the
// handler's time is up, and at least once. The step's own context does not
// bound it: that one may end as soon as the work is done.
func (s *steps) write(ctx context.Context, full string, value []byte) error {
	s.mu.Lock()
	handler, fence, attempt := s.handler, Fence{ID: s.id, Owner: s.owner}, s.attempt
	if s.sent == nil {
		s.sent = make(map[string][]byte)
	}
	s.sent[full] = value
	s.mu.Unlock()
	change := Change{Steps: map[string][]byte{full: value}}
	began := time.Now()
	for try := 1; ; try++ {
		met, ok, err := s.send(ctx, handler, fence, change)
		switch {
		case ok:
			return nil
		case errors.Is(err, ErrTooLarge):
			return err
		case err == nil && (met.Status != InProgress || met.Owner != fence.Owner):
			lost := &LeaseLostError{KeyHash: s.hash, Attempt: attempt}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.lose == nil {
				return &StoreError{Op: "step", Executed: true, Err: errors.Join(errStillRuns, lost)}
			}
			s.lose(lost)
			return lost
		case handler.Err() != nil, err != nil && !errors.Is(err, ErrUnavailable) && time.Since(began) > longestRefusal:
			return &StoreError{Op: "step", Executed: true, Err: errors.Join(context.Cause(handler), err)}
		}
		s.x.rest(handler, backoff(try))
	}
}

// send is one try. It outlives the handler's context, which may end while the
// step does.
func (s *steps) send(ctx, handler context.Context, f Fence, change Change) (Record, bool, error) {
	limit := longestAttempt
	if deadline, ok := handler.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)/2), shortestAttempt)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	began := time.Now()
	met, ok, err := s.x.store.Change(ctx, f, change)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roundTrips++
	s.spent += time.Since(began)
	return met, ok, err
}

var errStillRuns = errors.New("idempotent: the handler returned while a step was running; wait for it")

// unheard is the error of a step whose write is not known to have landed, as
// the handler has returned. One that still runs is such a step.
func (s *steps) unheard() *StoreError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsettled == nil && s.running > 0 {
		s.unsettled = &StoreError{Op: "step", Executed: true, Err: errStillRuns}
	}
	return s.unsettled
}

// misuse is why nothing of the call may be committed.
func (s *steps) misuse() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.misused
}

func (s *steps) passOver(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passedOver = append(s.passedOver, err)
}

// countSteps adds what the steps did to the event, and what they sent to the
// steps that the call knows.
func (c *call) countSteps(h *hold, in *inside) {
	s := &in.steps
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sent) > 0 {
		// A copy: the steps hold the map that came with the claim.
		h.record.Steps = maps.Clone(h.record.Steps)
		if h.record.Steps == nil {
			h.record.Steps = make(map[string][]byte)
		}
		maps.Copy(h.record.Steps, s.sent)
		h.stepped, s.sent = true, nil
	}
	c.event.RoundTrips += s.roundTrips
	c.event.Store += s.spent
	for _, err := range s.passedOver {
		c.passOver(err)
	}
	s.roundTrips, s.spent, s.passedOver = 0, 0, nil
}
