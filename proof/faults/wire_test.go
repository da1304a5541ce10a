package faults

import (
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// network is between a function and DynamoDB Local, and can delay a request.
type network struct {
	url  string
	t    *testing.T
	next atomic.Pointer[delayed] // the fate of the next request, or nil
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

// delayNext delays the next request until h.release is closed.
func (n *network) delayNext() (h *delayed) {
	h = &delayed{arrived: make(chan struct{}), release: make(chan struct{}), status: make(chan int, 1)}
	n.next.Store(h)
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

func (n *network) carry(r *wire.Request) (*wire.Response, error) {
	h := n.next.Swap(nil)
	if h == nil {
		return r.Send()
	}
	close(h.arrived)
	select {
	case <-h.release:
	case <-n.t.Context().Done():
		return nil, wire.ErrCut
	}
	res, err := r.Send()
	if err == nil {
		h.status <- res.Status
	}
	return res, err
}
