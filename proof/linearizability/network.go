package linearizability

import (
	"context"
	"errors"
	"fmt"

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

// faulty is a store behind a network with faults, call by call. It is the network
// of stores in memory, and of servers whose protocol [Wire] does not speak.
func faulty(store driver.Store) driver.Store {
	return through{store, func(ctx context.Context, q request, arrive call) (driver.Record, bool, error) {
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
					h.problem("a late copy of %v: %v", q, err)
				}
			})
		}, h.delay)
		return a.record, a.ok, err
	}}
}
