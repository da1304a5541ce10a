package main

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A receiver has one effect for each key. It is slow, so that many notices are under way
// when a process is killed.
type receiver struct {
	*httptest.Server
	t *testing.T
	// first is called once, between the effect of the first notice and its response.
	first func()

	mu       sync.Mutex
	once     bool
	requests int
	bodies   map[string]string   // by key
	effects  map[string][]string // the keys, by transfer
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, bodies: map[string]string{}, effects: map[string][]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed
	}
	r.linger()
	if r.receive(strings.Trim(request.Header.Get("Idempotency-Key"), `"`), body) {
		r.first()
	}
	r.linger()
	w.WriteHeader(http.StatusNoContent)
}

// linger makes a request as slow as a service is.
func (*receiver) linger() { <-time.After(rand.N(150 * time.Millisecond)) }

// receive reports whether this is the first notice.
func (r *receiver) receive(id string, body []byte) bool {
	var of transfer
	if err := json.Unmarshal(body, &of); err != nil || id == "" || of.TransferID == "" {
		r.t.Errorf("a notice with the key %q and the body %s, %v", id, body, err)
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if known, ok := r.bodies[id]; ok {
		if known != string(body) {
			r.t.Errorf("the key %s has the body %s, and had %s", id, body, known)
		}
		return false
	}
	r.bodies[id] = string(body)
	r.effects[of.TransferID] = append(r.effects[of.TransferID], id)
	first := !r.once
	r.once = true
	return first
}
