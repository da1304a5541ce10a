package faults

import (
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// fault is the fate of one request.
type fault int

const (
	pass   fault = iota
	unsent       // the connection is cut before DynamoDB receives the request
	lost         // the connection is cut before the response
	torn         // the connection is cut in the middle of the response
)

func (f fault) String() string { return [...]string{"pass", "unsent", "lost", "torn"}[f] }

// network is between a function and DynamoDB Local, and injects planned faults.
type network struct {
	url string
	t   *testing.T

	mu    sync.Mutex
	seen  int      // requests since the plan was made
	plan  []fault  // of the first requests; later ones pass
	delay *delayed // for the next request
}

// delayed is a request that arrives when the test releases it.
type delayed struct {
	arrived chan struct{}
	release chan struct{}
	status  chan int // of DynamoDB's answer
}

func newNetwork(t *testing.T) *network {
	n := &network{t: t}
	n.url = behind(t, n.carry)
	return n
}

// behind returns the URL of DynamoDB Local behind a proxy.
func behind(t *testing.T, carry wire.Carry) string {
	t.Helper()
	p, err := wire.HTTP(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), carry)
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, p.Close()) })
	return p.URL()
}

// faults plans the faults of the following requests.
func (n *network) faults(plan ...fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen, n.plan = 0, plan
}

// requests returns the number of requests since the plan was made.
func (n *network) requests() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen
}

// delayNext delays the next request until h.release is closed.
func (n *network) delayNext() (h *delayed) {
	h = &delayed{arrived: make(chan struct{}), release: make(chan struct{}), status: make(chan int, 1)}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = h
	return h
}

// await returns when the request has been sent.
func (h *delayed) await(t *testing.T) {
	t.Helper()
	select {
	case <-h.arrived:
	case <-time.After(patience):
		t.Fatal("the request is not sent")
	}
}

// refused lets the request arrive, and requires that DynamoDB refuses it.
func (h *delayed) refused(t *testing.T) {
	t.Helper()
	close(h.release)
	select {
	case status := <-h.status:
		check.Equal(t, status, http.StatusBadRequest, "the status of a delayed write")
	case <-time.After(patience):
		t.Fatal("the request does not arrive")
	}
}

func (n *network) next() (fault, *delayed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f, h := pass, n.delay
	if n.seen < len(n.plan) {
		f = n.plan[n.seen]
	}
	n.seen, n.delay = n.seen+1, nil
	return f, h
}

func (n *network) carry(r *wire.Request) (*wire.Response, error) {
	f, h := n.next()
	if h != nil {
		close(h.arrived)
		select {
		case <-h.release:
		case <-n.t.Context().Done():
			return nil, wire.ErrCut
		}
	}
	if f == unsent {
		return nil, wire.ErrCut
	}
	res, err := r.Send()
	if err != nil {
		return nil, err
	}
	if h != nil {
		h.status <- res.Status
	}
	if f == lost {
		return nil, wire.ErrCut
	}
	res.Torn = f == torn
	return res, nil
}
