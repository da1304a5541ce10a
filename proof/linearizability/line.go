package linearizability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
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

// fates draws the fates of one history's requests.
type fates struct {
	mu  sync.Mutex
	rnd *rand.Rand
}

func newFates(seed, number uint64) *fates {
	return &fates{rnd: rand.New(rand.NewPCG(seed, ^number))}
}

// next returns the fate of a request, and whether a late copy arrives now.
func (f *fates) next() (_ fate, lateArrives bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lateArrives = f.rnd.IntN(4) == 0
	if f.rnd.IntN(100) >= 30 {
		return pass, lateArrives
	}
	return unsent + fate(f.rnd.IntN(int(slow))), lateArrives
}

var errCut = fmt.Errorf("the answer was lost: %w", driver.ErrUnavailable)

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
	if h.isCalm() {
		o.leaves()
		return arrive(ctx)
	}
	fate, lateArrives := h.fates.next()
	if lateArrives {
		h.arrive()
	}
	// A late copy arrives although its sender has gone.
	late := func() {
		o.leaves()
		if _, _, err := arrive(context.WithoutCancel(ctx)); err != nil {
			h.problem("a late copy of %v: %v", o.request, err)
		}
	}
	switch fate {
	case unsent:
		return driver.Record{}, false, errCut
	case lost:
		late()
		return driver.Record{}, false, errCut
	case held:
		h.later(late)
		return driver.Record{}, false, errCut
	case doubled:
		late()
	case followed:
		h.later(late)
	case slow:
		h.delay()
	}
	o.leaves()
	return arrive(ctx)
}
