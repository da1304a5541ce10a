package linearizability

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// A Wire is a proxy in front of a DynamoDB server. It drops requests and
// answers, delays requests and doubles them, and keeps some until long after
// their sender has gone. It sees every copy, those of the SDK's own retries too,
// and tells the history of each record in it.
type Wire struct {
	// URL is the address for the client of the store under check.
	URL string

	calm      bool
	histories sync.Map     // by the id of their record
	batches   atomic.Int64 // requests with more than one write
	lost      atomic.Int64 // answers, of which half arrive in part
}

// NewWire returns a wire to the DynamoDB server at url, until the test ends.
// Without faults it only counts copies.
func NewWire(t *testing.T, url string, faults bool) *Wire {
	w := &Wire{calm: !faults}
	w.URL = proxied(t, wire.HTTP, url, w.carry).URL()
	return w
}

// proxied returns a proxy that is closed when the test ends.
func proxied(t *testing.T, listen func(string, wire.Carry) (*wire.Proxy, error), target string, carry wire.Carry) *wire.Proxy {
	t.Helper()
	p, err := listen(target, carry)
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, p.Close()) })
	return p
}

func (w *Wire) watch(h *history) { w.histories.Store(h.id, h) }

// historyOf returns the history of a record, or nil for requests that have none,
// such as those that create a table.
func (w *Wire) historyOf(id string) *history {
	h, _ := w.histories.Load(id)
	found, _ := h.(*history)
	return found
}

func (w *Wire) carry(r *wire.Request) (*wire.Response, error) {
	c := w.parse(r.Operation, r.Body)
	send := func() (*wire.Response, error) {
		for _, o := range c.ops {
			o.leaves()
		}
		if len(c.ops) > 1 {
			w.batches.Add(1)
		}
		res, err := r.Send()
		if err != nil {
			c.problem("the server does not respond: %v", err)
		}
		return res, err
	}
	f := w.fateOf(c)
	if f == lost && w.lost.Add(1)%2 == 0 {
		res, err := send()
		if err == nil {
			res.Torn = true
		}
		return res, err
	}
	return carry(f, send, func() { c.later(func() { _, _ = send() }) }, overtaken)
}

// overtaken lets other requests overtake one.
func overtaken() { time.Sleep(5 * time.Millisecond) }

// fateOf returns the fate of a request. One that concerns a history without
// faults passes, whatever else it contains.
func (w *Wire) fateOf(c *carried) fate {
	if w.calm || len(c.histories) == 0 || slices.ContainsFunc(c.histories, (*history).isCalm) {
		return pass
	}
	return c.histories[0].fate()
}
