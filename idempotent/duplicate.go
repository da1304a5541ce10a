package idempotent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/bounds"
)

// The pauses of a duplicate that waits for the result of a running call.
const (
	firstPause   = 25 * time.Millisecond
	longestPause = time.Second
)

var errWaitOver = errors.New("idempotent: the other call is still running at the end of the wait")

func (c *call) longestWait() time.Duration {
	if wait := c.options.Wait; wait != nil {
		return *wait
	}
	return c.x.config.Wait
}

// waitUntil returns the end of the wait. It leaves the Reserve of an invocation
// to report "in progress".
func (c *call) waitUntil() time.Time {
	until := c.began.Add(c.longestWait())
	if last := c.Invocation.Add(-c.x.config.Reserve); !c.Invocation.IsZero() && last.Before(until) {
		return last
	}
	return until
}

// awaitOwner waits for the owner of the record, and reads the record again.
func (c *call) awaitOwner(ctx context.Context, a *claiming) conclusion {
	if c.longestWait() <= 0 {
		return c.inProgress(a.met, nil)
	}
	if a.poll > firstPause {
		c.tellWaiting() // it has waited once
	}
	again, err := driver.Record{}, c.await(ctx, &a.poll, a.met)
	if err == nil {
		again, err = c.reread(ctx)
	}
	switch {
	case err == errWaitOver || ctx.Err() != nil:
		return c.inProgress(a.met, err)
	case err != nil:
		return conclusion{outcome: OutcomeFailed, err: &StoreError{Op: "wait", Err: err}}
	}
	a.met = again
	return conclusion{}
}

// await waits until the record is worth a further read: longer each time, with
// jitter, but not past the time at which its lease can be taken over. An error
// reports that the wait is over.
func (c *call) await(ctx context.Context, next *time.Duration, met driver.Record) error {
	d := c.x.spread(*next)
	*next = min(2*(*next), longestPause)
	if !met.Lease.IsZero() {
		// A lease lapses strictly after its end and the skew.
		lapse := met.Lease.Add(c.x.config.ClockSkew + 2*time.Millisecond).Sub(c.now)
		d = min(d, max(lapse, time.Millisecond))
	}
	left := time.Until(c.waitUntil())
	if left <= 0 {
		return errWaitOver
	}
	timer := time.NewTimer(min(d, left))
	defer timer.Stop()
	select {
	case <-timer.C:
		c.look()
		return nil
	case <-ctx.Done():
		return gaveUp(ctx)
	}
}

// tellWaiting tells the adapter, once, that the call waits for a duplicate, and so
// do the calls around it.
func (c *call) tellWaiting() {
	if c.waited {
		return
	}
	c.waited = true
	if waiting := c.options.Waiting; waiting != nil {
		waiting()
	}
	for f := c.outer; f != nil; f = f.outer {
		if f.waiting != nil {
			f.waiting()
		}
	}
}

// reread reads the record again, within the wait.
func (c *call) reread(ctx context.Context) (driver.Record, error) {
	left := time.Until(c.waitUntil())
	wait, cancel := context.WithTimeout(ctx, max(left, bounds.ShortestTry))
	defer cancel()
	met, err := c.read(wait, c.ReadTime(ctx))
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		return met, errWaitOver
	}
	return met, err
}

func gaveUp(ctx context.Context) error {
	return fmt.Errorf("idempotent: stopped waiting: %w", context.Cause(ctx))
}

// join shares the flight of an identical call, or leads one.
func (c *call) join(ctx context.Context) conclusion {
	all := c.x.flights
	left := time.NewTimer(time.Until(c.waitUntil()))
	defer left.Stop()
	for {
		f, leads := all.Join(c.id, c.fingerprint)
		c.look() // it may be long since the call began
		switch {
		case f == nil:
			return c.lead(ctx) // the payloads differ: the store refuses one of them
		case leads:
			// However the call ends, also in a panic.
			defer func() { all.Land(c.id, f, c.finished) }()
			return c.lead(ctx)
		}
		c.tellWaiting()
		select {
		case <-f.Landed():
			// A leader that failed, panicked or was released leaves no record:
			// try again.
			if record := f.Record(); record != nil {
				c.joined = true
				return c.replay(ctx, *record)
			}
		case <-left.C:
			return c.inProgress(driver.Record{}, errWaitOver)
		case <-ctx.Done():
			return c.inProgress(driver.Record{}, gaveUp(ctx))
		}
	}
}
