package linearizability

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/local/wire"
)

// A Wire is a proxy in front of a DynamoDB server. It drops requests and
// answers, delays requests and doubles them, and keeps some until long after
// their sender has gone. It sees every copy, those of the SDK's own retries too,
// and tells the history of each record in it.
type Wire struct {
	// URL is the address for the client of the store under check.
	URL string

	calm bool

	mu        sync.Mutex
	histories map[string]*history
	batches   int // requests with more than one write
}

// NewWire returns a wire to the DynamoDB server at url, until the test ends.
// Without faults it only counts copies.
func NewWire(t *testing.T, url string, faults bool) *Wire {
	w := &Wire{calm: !faults, histories: make(map[string]*history)}
	w.URL = proxied(t, wire.HTTP, url, w.carry).URL()
	return w
}

// proxied returns a proxy that is closed when the test ends.
func proxied(t *testing.T, listen func(string, wire.Carry) (*wire.Proxy, error), target string, carry wire.Carry) *wire.Proxy {
	t.Helper()
	p, err := listen(target, carry)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (w *Wire) watch(h *history) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.histories[h.id] = h
}

func (w *Wire) unwatch(h *history) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.histories, h.id)
}

// historyOf returns the history of a record, or nil for requests that have none,
// such as those that create a table.
func (w *Wire) historyOf(id string) *history {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.histories[id]
}

func (w *Wire) carry(r *wire.Request) (*wire.Response, error) {
	c := w.parse(r.Header, r.Body)
	send := func() (*wire.Response, error) {
		for _, o := range c.ops {
			o.leaves()
		}
		if len(c.ops) > 1 {
			w.mu.Lock()
			w.batches++
			w.mu.Unlock()
		}
		res, err := r.Send()
		if err != nil {
			c.problem("the server does not respond: %v", err)
		}
		return res, err
	}
	return carry(w.fateOf(c), send, func() { c.later(func() { _, _ = send() }) }, overtaken)
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
