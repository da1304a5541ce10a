// Package providers stands in for the services that examples/checkout calls: an
// inventory and a payment provider. A request with a known Idempotency-Key has no effect,
// and receives the response of the first request.
package providers

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// Values that are refused.
const (
	SoldOut  = "sold-out" // a sku; 410
	Declined = "declined" // a card; 402
)

// An Effect is the effect of a request.
type Effect struct {
	Path string // /reservations, /releases, /charges or /refunds
	Key  string // the Idempotency-Key
	ID   string // of the reservation or charge
}

// Providers implements both services as an http.Handler. It is safe for concurrent use.
// Create it with [New].
type Providers struct {
	mu      sync.Mutex
	answers map[string]answer // by key
	effects []Effect
	open    map[string]bool // reservations and charges that are not undone, by ID
}

type answer struct {
	path   string
	status int
	body   []byte
}

// New returns services without effects.
func New() *Providers {
	return &Providers{answers: make(map[string]answer), open: make(map[string]bool)}
}

// Effects returns all effects so far, in their order.
func (p *Providers) Effects() []Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.effects)
}

type request struct {
	ID   string `json:"id"`
	SKU  string `json:"sku"`
	Card string `json:"card"`
}

// ServeHTTP responds to a POST to a path of [Effect] with 201 and the ID of the
// reservation or charge.
func (p *Providers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body request
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, "the body is no JSON", http.StatusBadRequest)
		return
	}
	a := p.answer(r.URL.Path, r.Header.Get("Idempotency-Key"), body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a caller that has left retries
}

func (p *Providers) answer(path, key string, body request) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
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
	case path != "/releases" && path != "/refunds", !p.open[id]:
		return answer{path: path, status: http.StatusNotFound}
	}
	p.open[id] = !p.open[id]
	p.effects = append(p.effects, Effect{Path: path, Key: key, ID: id})
	text, err := json.Marshal(map[string]string{"id": id})
	if err != nil {
		return answer{path: path, status: http.StatusInternalServerError}
	}
	return answer{path: path, status: http.StatusCreated, body: text}
}
