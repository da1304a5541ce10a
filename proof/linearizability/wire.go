package linearizability

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// A Wire is a proxy in front of a DynamoDB server. It drops requests and
// answers, delays requests and doubles them, and keeps some until long after
// their sender has gone. It sees every copy, those of the SDK's own retries too,
// and tells the history of each record in it.
type Wire struct {
	// URL is the address for the client of the store under check.
	URL string

	server    string
	transport *http.Transport
	calm      bool

	mu        sync.Mutex
	histories map[string]*history
	batches   int // requests with more than one write
}

// NewWire returns a wire to the DynamoDB server at url, until the test ends.
// Without faults it only counts copies.
func NewWire(t *testing.T, url string, faults bool) *Wire {
	w := &Wire{
		server: url, calm: !faults, histories: make(map[string]*history),
		transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true},
	}
	s := httptest.NewServer(w)
	t.Cleanup(func() {
		s.Close()
		w.transport.CloseIdleConnections()
	})
	w.URL = s.URL
	return w
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

// ServeHTTP handles one request. A lost answer is a connection that is cut.
func (w *Wire) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // its sender is gone
	}
	c := w.parse(in.Header, body)
	switch f := w.fateOf(c); f {
	case pass:
	case unsent:
		panic(http.ErrAbortHandler)
	case lost:
		w.forward(c)
		panic(http.ErrAbortHandler)
	case held:
		c.later(w)
		panic(http.ErrAbortHandler)
	case doubled:
		w.forward(c)
	case followed:
		c.later(w)
	case slow:
		time.Sleep(5 * time.Millisecond) // others overtake it
	}
	a, err := w.forward(c)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range a.header {
		out.Header()[name] = values
	}
	out.WriteHeader(a.status)
	if _, err := out.Write(a.body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// fateOf returns the fate of a request. One that concerns a history without
// faults passes, whatever else it contains.
func (w *Wire) fateOf(c *carried) fate {
	if w.calm || len(c.histories) == 0 {
		return pass
	}
	f, lateArrives := c.histories[0].fates.next()
	for _, h := range c.histories {
		if h.isCalm() {
			return pass
		}
	}
	if lateArrives {
		c.histories[0].arrive()
	}
	return f
}

type httpAnswer struct {
	status int
	header http.Header
	body   []byte
}

// forward sends one copy to the server. It does not use the sender's context:
// a request on its way is not called back.
func (w *Wire) forward(c *carried) (a httpAnswer, err error) {
	for _, o := range c.ops {
		o.leaves()
	}
	if len(c.ops) > 1 {
		w.mu.Lock()
		w.batches++
		w.mu.Unlock()
	}
	req, err := http.NewRequest(http.MethodPost, w.server, bytes.NewReader(c.body))
	if err != nil {
		return a, err
	}
	req.Header = c.header
	res, err := w.transport.RoundTrip(req)
	if err != nil {
		c.problem("the server does not answer: %v", err)
		return a, err
	}
	body, err := io.ReadAll(res.Body)
	return httpAnswer{res.StatusCode, res.Header, body}, errors.Join(err, res.Body.Close())
}
