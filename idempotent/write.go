package idempotent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// repeat is the only loop around a write: until its policy rules on the result, or ctx is done.
func (s *storeCalls) repeat(ctx context.Context, w *write) sent {
	at := protocol.Progress{Unacknowledged: w.unacknowledged}
	var denied time.Time // the first of the denials in a row
	var lost error
	how, met := protocol.Again, driver.Record{}
	first := time.Now()
	for began := first; ; began = time.Now() {
		at.Tries++
		r := s.send(ctx, w, began, how, met)
		switch {
		case !errors.Is(r.Err, driver.ErrDenied):
			denied = time.Time{} // an outage says nothing about the permissions
		case denied.IsZero():
			denied = time.Now()
		}
		if r.Err != nil {
			at.Elapsed, at.Denied = time.Since(first), time.Since(denied)
		}
		at.Cutoff = s.now.Add(-s.x.config.ClockSkew)
		at.TimeUp, at.Pause = ctx.Err() != nil, backoff(at.Tries, r.Err)
		wrote := w.wrote != nil && r.Err == nil && !r.OK && w.wrote(r.Met)
		ruling := w.Judge(&r, &w.own, at, wrote)
		if ruling.SendsAgain() && !s.x.pause(ctx, at.Pause) {
			at.TimeUp = true // a further try would be in vain, and hide the last answer
			ruling = w.Judge(&r, &w.own, at, wrote)
		}
		if r.Err != nil && !errors.Is(r.Err, driver.ErrNotWritten) && ruling != protocol.Rejected && ruling != protocol.TooLarge {
			at.Unacknowledged = true
		}
		if !ruling.SendsAgain() {
			last := r.Err
			if ruling == protocol.Unknown {
				r.Err = joined(r.Err, lost, context.Cause(ctx))
			}
			return sent{ruling, r, last, at.Unacknowledged}
		}
		if r.Err != nil {
			lost = r.Err
		} else {
			how, met = ruling, r.Met
		}
	}
}

// joined joins errors, those of joined ones too, each text once: the tries of a write
// often fail alike.
func joined(errs ...error) error {
	var all []error
	for _, err := range errs {
		parts := []error{err}
		if fmt.Sprintf("%T", err) == "*errors.joinError" {
			parts = err.(interface{ Unwrap() []error }).Unwrap()
		}
		for _, part := range parts {
			same := func(known error) bool { return fmt.Sprintf("%T %[1]v", known) == fmt.Sprintf("%T %[1]v", part) }
			if part != nil && !slices.ContainsFunc(all, same) {
				all = append(all, part)
			}
		}
	}
	return errors.Join(all...)
}

// send makes one try of a write, and counts it, even if the store panics.
func (s *storeCalls) send(ctx context.Context, w *write, began time.Time, how protocol.Ruling, met driver.Record) protocol.Reply {
	defer s.count(began)
	return w.send(ctx, how, met)
}

// try makes one try with a part of ctx's time, so that a hung connection does not take it all.
func try(ctx context.Context, send func(context.Context) protocol.Reply) protocol.Reply {
	deadline, _ := ctx.Deadline()
	half := min(time.Until(deadline)/2, bounds.LongestTry)
	ctx, cancel := context.WithTimeout(ctx, max(half, bounds.ShortestTry))
	defer cancel()
	return send(ctx)
}

// pause pauses for about d. It returns early, and reports false, if ctx is done.
func (x *Executor) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(x.spread(d))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// backoff returns the pause after a try that failed with err, or that met a record. A
// denial ends with a person's help, if at all, so its pauses are longer.
func backoff(try int, err error) time.Duration {
	if errors.Is(err, driver.ErrDenied) {
		return min(100*time.Millisecond<<min(try-1, 5), 2*time.Second)
	}
	return min(time.Duration(try)*20*time.Millisecond, time.Second)
}

// replyOf returns the answer of the store to a write.
func replyOf(met driver.Record, ok bool, err error) protocol.Reply {
	return protocol.Reply{Met: met, OK: ok, Err: err}
}

func (s *storeCalls) get(ctx context.Context, id string) (driver.Record, error) {
	defer s.count(time.Now())
	return s.x.store.Get(ctx, id)
}

// count counts a call to the store, and reads the clock.
func (s *storeCalls) count(began time.Time) {
	now := time.Now()
	s.now = wall(now)
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	s.tally.roundTrips++
	s.tally.spent += now.Sub(began)
}

// wait adds a wait of a write for others of its batch.
func (t *tally) wait(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited += d
}

// look reads the clock.
func (s *storeCalls) look() time.Time {
	s.now = wall(time.Now())
	return s.now
}

// wall drops the monotonic reading. Leases are compared with other machines'
// clocks, and monotonic clocks stop while a sandbox is frozen.
func wall(t time.Time) time.Time { return t.Round(0) }

// suppress adds an error that the observer sees and the caller does not.
func (t *tally) suppress(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.suppressed = append(t.suppressed, err)
}
