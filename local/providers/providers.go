// Package providers stands in for the services that examples/checkout calls: an
// inventory and a payment provider. A request with an Idempotency-Key that they
// know has no effect, and gets the answer that the first one got.
package providers

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// What is refused.
const (
	SoldOut  = "sold-out" // a sku; 410
	Declined = "declined" // a card; 402
)

// Effect is what a request has done.
type Effect struct {
	Path string // /reservations, /releases, /charges or /refunds
	Key  string // the Idempotency-Key
	ID   string // of the reservation or charge that was made, or undone
}

// Providers are both services, as an http.Handler. They are safe for concurrent
// use; make them with [New].
type Providers struct {
	mu       sync.Mutex
	answers  map[string]answer // by key
	effects  []Effect
	requests map[string]int // by path
}

type answer struct {
	path   string
	status int
	body   []byte
}

// New makes services that have done nothing yet.
func New() *Providers {
	return &Providers{answers: make(map[string]answer), requests: make(map[string]int)}
}

// Effects are all so far, in their order.
func (p *Providers) Effects() []Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.effects)
}

// Requests is how many have come to a path, with those that had no effect.
func (p *Providers) Requests(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[path]
}

type request struct {
	ID   string `json:"id"`
	SKU  string `json:"sku"`
	Card string `json:"card"`
}

// ServeHTTP answers POST to the paths of [Effect] with 201 and the id of what
// was made or undone.
func (p *Providers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body request
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, "the body is no JSON", http.StatusBadRequest)
		return
	}
	a := p.answer(r.URL.Path, r.Header.Get("Idempotency-Key"), body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // whoever is gone asks again
}

func (p *Providers) answer(path, key string, body request) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[path]++
	known, again := p.answers[key]
	switch {
	case key == "":
		return answer{status: http.StatusBadRequest}
	case again && known.path != path:
		return answer{status: http.StatusUnprocessableEntity}
	case again:
		return known
	}
	a := p.act(path, key, body)
	p.answers[key] = a
	return a
}

func (p *Providers) act(path, key string, body request) answer {
	id := body.ID
	switch {
	case path == "/reservations" && body.SKU == SoldOut:
		return answer{path: path, status: http.StatusGone}
	case path == "/charges" && body.Card == Declined:
		return answer{path: path, status: http.StatusPaymentRequired}
	case path == "/reservations", path == "/charges":
		id = path[1:] + "-" + strconv.Itoa(len(p.effects)+1)
	case path != "/releases" && path != "/refunds", !p.open(id):
		return answer{path: path, status: http.StatusNotFound}
	}
	p.effects = append(p.effects, Effect{Path: path, Key: key, ID: id})
	text, err := json.Marshal(map[string]string{"id": id})
	if err != nil {
		return answer{path: path, status: http.StatusInternalServerError}
	}
	return answer{path: path, status: http.StatusCreated, body: text}
}

// open says whether something was made, and not undone.
func (p *Providers) open(id string) bool {
	times := 0
	for _, e := range p.effects {
		if e.ID == id {
			times++
		}
	}
	return times == 1
}
