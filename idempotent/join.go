package idempotent

import (
	"context"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// flights are the calls of one Executor that are under way, so that identical
// calls in one process share one claim, one wait and one execution. It is only
// used when Config.Wait is on: otherwise a duplicate in the same process would
// wait where one in another is refused.
type flights struct {
	mu    sync.Mutex
	byKey map[string]*flight
}

type flight struct {
	fingerprint string
	landed      chan struct{}
	record      *driver.Record // set before landed is closed; nil: no answer to share
}

func newFlights() *flights { return &flights{byKey: map[string]*flight{}} }

// join shares the flight of an identical call, or leads one.
func (c *call) join(ctx context.Context) ending {
	all := c.x.flights
	left := time.NewTimer(time.Until(c.waitUntil(ctx)))
	defer left.Stop()
	for {
		f, leads := all.board(c.id, c.fingerprint)
		c.look() // what follows may come long after the call began
		switch {
		case f == nil:
			return c.lead(ctx) // another payload: the store refuses one of them
		case leads:
			return c.leadFlight(ctx, f)
		}
		select {
		case <-f.landed:
			// A leader that failed, panicked, was released or gave up
			// leaves no record. Its joiners go round.
			if f.record != nil {
				c.event.Joined = true
				return c.replay(ctx, *f.record)
			}
		case <-left.C:
			return ending{outcome: OutcomeConflict, err: &InProgressError{KeyHash: c.hash, Err: errWaitOver}}
		case <-ctx.Done():
			return ending{outcome: OutcomeConflict, err: &InProgressError{KeyHash: c.hash, Err: gaveUp(ctx)}}
		}
	}
}

// leadFlight lands the flight however the call ends, in a panic too.
func (c *call) leadFlight(ctx context.Context, f *flight) ending {
	defer func() {
		c.x.flights.leave(c.id)
		f.record = c.finished
		close(f.landed)
	}()
	return c.lead(ctx)
}

// board gives the flight under way, or a new one to lead; nil for one with
// another payload.
func (a *flights) board(id, fingerprint string) (f *flight, leads bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, ok := a.byKey[id]
	if !ok {
		f = &flight{fingerprint: fingerprint, landed: make(chan struct{})}
		a.byKey[id] = f
		return f, true
	}
	if f.fingerprint != fingerprint {
		return nil, false
	}
	return f, false
}

func (a *flights) leave(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byKey, id)
}
