package faults

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"
)

// fault is what happens to one request on its way.
type fault int

const (
	pass   fault = iota
	unsent       // the connection is cut before DynamoDB receives the request
	lost         // the connection is cut before the response
	torn         // the connection is cut in the middle of the response
)

func (f fault) String() string { return [...]string{"pass", "unsent", "lost", "torn"}[f] }

// wire is a proxy of DynamoDB Local that injects planned faults.
type wire struct {
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

func newWire(t *testing.T) *wire {
	w := &wire{t: t}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// faults plans the faults of the following requests.
func (w *wire) faults(plan ...fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.plan = 0, plan
}

// requests returns the number of requests since the plan was made.
func (w *wire) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// delayNext delays the next request until h.release is closed.
func (w *wire) delayNext() (h *delayed) {
	h = &delayed{arrived: make(chan struct{}), release: make(chan struct{}), status: make(chan int, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = h
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
		if status != http.StatusBadRequest {
			t.Errorf("status %d for a delayed write, want 400", status)
		}
	case <-time.After(patience):
		t.Fatal("the request does not arrive")
	}
}

func (w *wire) next() (fault, *delayed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, h := pass, w.delay
	if w.seen < len(w.plan) {
		f = w.plan[w.seen]
	}
	w.seen, w.delay = w.seen+1, nil
	return f, h
}

// ServeHTTP reads the whole request before it cuts a connection.
func (w *wire) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	request, err := io.ReadAll(in.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // a process that was killed
	}
	f, h := w.next()
	if h != nil {
		close(h.arrived)
		select {
		case <-h.release:
		case <-w.t.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	if f == unsent {
		panic(http.ErrAbortHandler)
	}
	status, header, answer, err := forward(in.Header, request)
	if err != nil {
		w.t.Errorf("DynamoDB Local does not respond: %v", err)
		panic(http.ErrAbortHandler)
	}
	if h != nil {
		h.status <- status
	}
	if f == lost {
		panic(http.ErrAbortHandler)
	}
	for name, values := range header {
		out.Header()[name] = values
	}
	out.WriteHeader(status)
	if f == torn {
		answer = answer[:len(answer)/2] // of what Content-Length promises
	}
	if _, err := out.Write(answer); err != nil || f == torn {
		panic(http.ErrAbortHandler)
	}
}

// forward does not use the caller's context, because a caller that has died does
// not cancel its requests.
func forward(header http.Header, request []byte) (int, http.Header, []byte, error) {
	req, err := http.NewRequest(http.MethodPost, os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), bytes.NewReader(request))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header = header
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, answer, err
}
