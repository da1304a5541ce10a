package idempotent

import (
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// write is one write to the store, repeated according to its policy.
type write struct {
	*protocol.Policy
	// own is the record as the attempt knows it.
	own driver.Record
	// send makes one try, in the form of the last ruling, which is about met.
	send func(ctx context.Context, how protocol.Ruling, met driver.Record) protocol.Reply
	// wrote reports whether a finished record is this write's own; nil: never.
	wrote func(met driver.Record) bool
	// unacknowledged reports that an earlier write of the call may still arrive.
	unacknowledged bool
}

// sent is the result of a write.
type sent struct {
	protocol.Ruling
	protocol.Reply
	unacknowledged bool // the answer to a try was lost
}

// repeat sends a write until its policy rules on the result, or until ctx is
// done. It is the only loop around a write.
func (x *Executor) repeat(ctx context.Context, w write) sent {
	at := protocol.Progress{Unacknowledged: w.unacknowledged}
	began := time.Now()
	var denied denials
	var lost error
	how, met := protocol.Again, driver.Record{}
	for {
		at.Tries++
		at.Cutoff = wall(time.Now()).Add(-x.config.ClockSkew)
		r := w.send(ctx, how, met)
		at.Denied = denied.since(r.Err)
		at.TimeUp, at.Elapsed, at.Pause = ctx.Err() != nil, time.Since(began), backoff(at.Tries, r.Err)
		wrote := w.wrote != nil && r.Err == nil && w.wrote(r.Met)
		ruling := w.Judge(r, w.own, at, wrote)
		if ruling.SendsAgain() && !x.pause(ctx, at.Pause) {
			at.TimeUp = true // another try would be in vain, and hide what is known
			ruling = w.Judge(r, w.own, at, wrote)
		}
		if r.Err != nil && !errors.Is(r.Err, driver.ErrNotWritten) && ruling != protocol.Rejected && ruling != protocol.TooLarge {
			at.Unacknowledged = true
		}
		if !ruling.SendsAgain() {
			if ruling == protocol.Unknown {
				r.Err = errors.Join(r.Err, lost, context.Cause(ctx))
			}
			return sent{ruling, r, at.Unacknowledged}
		}
		if r.Err != nil {
			lost = r.Err
		} else {
			how, met = ruling, r.Met
		}
	}
}

// denials are the denials in a row. An outage before them says nothing about the
// permissions, which may be granted while a denial is repeated.
type denials struct{ first time.Time }

// since returns for how long a write has been denied, after another answer.
func (d *denials) since(err error) time.Duration {
	switch {
	case !errors.Is(err, driver.ErrDenied):
		d.first = time.Time{}
		return 0
	case d.first.IsZero():
		d.first = time.Now()
	}
	return time.Since(d.first)
}

// try makes one try with a part of the time of ctx, so that a connection that
// hangs does not take it all.
func try(ctx context.Context, send func(context.Context) (driver.Record, bool, error)) protocol.Reply {
	deadline, _ := ctx.Deadline()
	half := min(time.Until(deadline)/2, longestAttempt)
	ctx, cancel := context.WithTimeout(ctx, max(half, shortestAttempt))
	defer cancel()
	met, ok, err := send(ctx)
	return protocol.Reply{Met: met, OK: ok, Err: err}
}

// tryChange makes one try of a change that our owner fences.
func (c *call) tryChange(ctx context.Context, l *lease, change driver.Change) protocol.Reply {
	return try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
		return c.change(ctx, driver.Fence{ID: c.id, Owner: l.record.Owner}, change)
	})
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
