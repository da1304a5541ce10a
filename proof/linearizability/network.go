package linearizability

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// fate is the way of a request to the server.
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

// opKey is the key of the request that a context belongs to.
type opKey struct{}

// call is a call of a store that is made with a context.
type call func(context.Context) (driver.Record, bool, error)

// through is a store whose calls all go through one function.
type through struct {
	store driver.Store
	carry func(context.Context, request, call) (driver.Record, bool, error)
}

func (t through) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return t.carry(ctx, request{kind: create, record: r, cutoff: cutoff}, func(ctx context.Context) (driver.Record, bool, error) {
		return t.store.Create(ctx, r, cutoff, with)
	})
}

func (t through) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return t.carry(ctx, request{kind: kindOf(c), fence: f, change: c}, func(ctx context.Context) (driver.Record, bool, error) {
		return t.store.Change(ctx, f, c)
	})
}

func (t through) Get(ctx context.Context, id string) (driver.Record, error) {
	r, _, err := t.carry(ctx, request{kind: read}, func(ctx context.Context) (driver.Record, bool, error) {
		r, err := t.store.Get(ctx, id)
		return r, true, err
	})
	return r, err
}

// recorded is the store as one caller sees it. It writes every call into the history.
// gate is where a frozen process stops before it sends a request. If the history has
// faults of its own, each call has a fate: that is the network of stores in memory, and
// of servers whose protocol [Wire] does not speak.
func recorded(store driver.Store, client int, h *history, gate func()) driver.Store {
	return through{store, func(ctx context.Context, q request, send call) (driver.Record, bool, error) {
		gate()
		o := h.begin(client, q)
		o.invocation, _ = ctx.Value(invocationKey{}).(*invocation)
		ctx = context.WithValue(ctx, opKey{}, o)
		arrive := func(ctx context.Context) (answer, error) {
			if h.faulty {
				o.leaves()
			}
			r, ok, err := send(ctx)
			return answer{ok: ok, record: r}, err
		}
		f := pass
		if h.faulty {
			f = h.fate()
		}
		a, err := carry(f, func() (answer, error) { return arrive(ctx) }, func() {
			h.later(func() { // a late copy arrives although its sender has gone
				if _, err := arrive(context.WithoutCancel(ctx)); err != nil {
					h.problem("a late copy of %v: %v", q, err)
				}
			})
		}, h.delay)
		a.unknown = err != nil
		o.end(a)
		if _, invalid := errors.AsType[*driver.InvalidWriteError](err); invalid {
			h.problem("a write that the protocol never makes: %v: %v", q, err)
		}
		return a.record, a.ok, err
	}}
}
