package linearizability

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// fate is what happens to a request on its way to the server.
type fate uint8

const (
	pass     fate = iota
	unsent        // it never leaves
	lost          // its answer is lost
	held          // its sender gets an error, and it arrives much later
	doubled       // it arrives twice, and the second answer is returned
	followed      // it is answered, and a copy arrives much later
	slow          // it arrives after others that were sent after it
)

var errCut = fmt.Errorf("the answer was lost: %w", driver.ErrUnavailable)

// carry lets a request have its fate. later keeps a copy for a later moment, and delay
// lets other requests overtake it.
func carry[Answer any](f fate, send func() (Answer, error), later, delay func()) (none Answer, err error) {
	switch f {
	case unsent:
		return none, errCut
	case lost:
		_, err := send()
		return none, errors.Join(errCut, err)
	case held:
		later()
		return none, errCut
	case doubled:
		if _, err := send(); err != nil {
			return none, err
		}
	case followed:
		later()
	case slow:
		delay()
	}
	return send()
}

// line is a store behind a network with faults, call by call. It is the faulty
// network of stores in memory, and of servers whose protocol [Wire] does not
// speak.
type line struct{ driver.Store }

func (l line) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return l.send(ctx, func(ctx context.Context) (driver.Record, bool, error) {
		return l.Store.Create(ctx, r, cutoff, with)
	})
}

func (l line) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return l.send(ctx, func(ctx context.Context) (driver.Record, bool, error) {
		return l.Store.Change(ctx, f, c)
	})
}

func (l line) Get(ctx context.Context, id string) (driver.Record, error) {
	r, _, err := l.send(ctx, func(ctx context.Context) (driver.Record, bool, error) {
		r, err := l.Store.Get(ctx, id)
		return r, true, err
	})
	return r, err
}

func (l line) send(ctx context.Context, arrive func(context.Context) (driver.Record, bool, error)) (driver.Record, bool, error) {
	o := opOf(ctx)
	h := o.history
	arrival := func(ctx context.Context) (answer, error) {
		o.leaves()
		r, ok, err := arrive(ctx)
		return answer{ok: ok, record: r}, err
	}
	a, err := carry(h.fate(), func() (answer, error) { return arrival(ctx) }, func() {
		h.later(func() { // a late copy arrives although its sender has gone
			if _, err := arrival(context.WithoutCancel(ctx)); err != nil {
				h.problem("a late copy of %v: %v", o.request, err)
			}
		})
	}, h.delay)
	return a.record, a.ok, err
}
