package idempotent

import (
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// repeat sends a write until its policy rules on the result, or until ctx is
// done. It is the only loop around a write.
func (x *Executor) repeat(ctx context.Context, w write) sent {
	at := protocol.Progress{Unacknowledged: w.unacknowledged}
	began := time.Now()
	var denied time.Time // the first of the denials in a row
	var lost error
	how, met := protocol.Again, driver.Record{}
	for {
		at.Tries++
		at.Cutoff = wall(time.Now()).Add(-x.config.ClockSkew)
		r := w.send(ctx, how, met)
		if !errors.Is(r.Err, driver.ErrDenied) {
			denied = time.Time{} // an outage says nothing about the permissions
		} else if denied.IsZero() {
			denied = time.Now()
		}
		at.Denied = time.Since(denied) // only read after a denial
		at.TimeUp, at.Elapsed, at.Pause = ctx.Err() != nil, time.Since(began), backoff(at.Tries, r.Err)
		wrote := w.wrote != nil && r.Err == nil && !r.OK && w.wrote(r.Met)
		ruling := w.Judge(r, w.own, at, wrote)
		if ruling.SendsAgain() && !x.pause(ctx, at.Pause) {
			at.TimeUp = true // a further try would be in vain, and hide the last answer
			ruling = w.Judge(r, w.own, at, wrote)
		}
		if r.Err != nil && !errors.Is(r.Err, driver.ErrNotWritten) && ruling != protocol.Rejected && ruling != protocol.TooLarge {
			at.Unacknowledged = true
		}
		if !ruling.SendsAgain() {
			last := r.Err
			if ruling == protocol.Unknown {
				r.Err = errors.Join(r.Err, lost, context.Cause(ctx))
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

// try makes one try with a part of the time of ctx, so that a connection that
// hangs does not take it all.
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

// backoff returns the pause after a try that failed with err, or that met a
// record. A denial ends with a person's help, if at all, so its pauses are
// longer.
func backoff(try int, err error) time.Duration {
	if errors.Is(err, driver.ErrDenied) {
		return min(100*time.Millisecond<<min(try-1, 5), 2*time.Second)
	}
	return min(time.Duration(try)*20*time.Millisecond, time.Second)
}

// create, change, get and commit call the store, and count the call and its time.
func (s *storeCalls) create(ctx context.Context, fresh driver.Record, cutoff time.Time, with any) (r protocol.Reply) {
	defer s.count(time.Now())
	r.Met, r.OK, r.Err = s.x.store.Create(ctx, fresh, cutoff, with)
	return r
}

func (s *storeCalls) change(ctx context.Context, f driver.Fence, change driver.Change) (r protocol.Reply) {
	defer s.count(time.Now())
	r.Met, r.OK, r.Err = s.x.store.Change(ctx, f, change)
	return r
}

func (s *storeCalls) get(ctx context.Context, id string) (driver.Record, error) {
	defer s.count(time.Now())
	return s.x.store.Get(ctx, id)
}

func (s *storeCalls) commit(ctx context.Context, id string, with driver.Attachment) protocol.Reply {
	defer s.count(time.Now())
	err := s.x.transactional.Commit(ctx, id, with)
	return protocol.Reply{OK: err == nil, Err: err}
}

func (s *storeCalls) count(began time.Time) {
	s.now = wall(time.Now())
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	s.tally.roundTrips++
	s.tally.spent += time.Since(began)
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
