// Package flight lets identical calls of one process share one claim, one wait
// and one execution.
package flight

import (
	"sync"

	"github.com/lambda-once/once/idempotent/driver"
)

// A Group contains the calls of one executor that are running.
type Group struct {
	mu    sync.Mutex
	byKey map[string]*Flight
}

// A Flight is a running call that duplicates may join.
type Flight struct {
	fingerprint string
	landed      chan struct{}
	record      *driver.Record
}

// NewGroup returns an empty group.
func NewGroup() *Group { return &Group{byKey: map[string]*Flight{}} }

// Join returns the running flight of an identical call, or a new one and true:
// the caller leads it. Join returns nil if the running call has a different
// payload.
func (g *Group) Join(id, fingerprint string) (f *Flight, leads bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, ok := g.byKey[id]
	if !ok {
		f = &Flight{fingerprint: fingerprint, landed: make(chan struct{})}
		g.byKey[id] = f
		return f, true
	}
	if f.fingerprint != fingerprint {
		return nil, false
	}
	return f, false
}

// Land ends a flight. The record is nil if there is no result to share.
func (g *Group) Land(id string, f *Flight, record *driver.Record) {
	g.mu.Lock()
	delete(g.byKey, id)
	g.mu.Unlock()
	f.record = record
	close(f.landed)
}

// Landed returns a channel that is closed when the flight has landed.
func (f *Flight) Landed() <-chan struct{} { return f.landed }

// Record returns the record of a flight that has landed, or nil if there is no
// result to share.
func (f *Flight) Record() *driver.Record { return f.record }
