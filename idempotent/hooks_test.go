package idempotent_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// A write is a call to a store. Its record is that of a Create, its fence and its
// change are those of a Change.
type write struct {
	ctx    context.Context
	record driver.Record
	cutoff time.Time
	fence  driver.Fence
	change driver.Change
	send   func() (driver.Record, bool, error)
}

func isCreate(w write) bool   { return w.record.ID != "" }
func isClaim(w write) bool    { return w.record.Status == driver.InProgress }
func isChange(w write) bool   { return w.fence.ID != "" }
func isTakeover(w write) bool { return w.change.Owner != "" }
func isExtend(w write) bool   { return !w.change.Lease.IsZero() && w.change.Owner == "" }
func isStep(w write) bool     { return len(w.change.Steps) > 0 }
func isRelease(w write) bool  { return w.change.Release != 0 }
func isCommit(w write) bool   { return w.change.With != nil }

// A hook returns the answer to a write, which it may send.
type hook func(w write) (driver.Record, bool, error)

func on(when func(write) bool, answer hook) hook {
	return func(w write) (driver.Record, bool, error) {
		if when(w) {
			return answer(w)
		}
		return w.send()
	}
}

// onFirst applies a hook to the first write of its kind.
func onFirst(when func(write) bool, answer hook) hook {
	var seen atomic.Bool
	return on(func(w write) bool { return when(w) && !seen.Swap(true) }, answer)
}

func fails(when func(write) bool, err error) hook { return on(when, notSent(err)) }

func notSent(err error) hook {
	return func(write) (driver.Record, bool, error) { return driver.Record{}, false, err }
}

// unanswered sends the write, and loses its answer.
func unanswered(w write) (driver.Record, bool, error) {
	if _, _, err := w.send(); err != nil {
		return driver.Record{}, false, err
	}
	return driver.Record{}, false, errNetwork
}

// hangs neither sends the write nor answers it.
func hangs(w write) (driver.Record, bool, error) {
	<-w.ctx.Done()
	return driver.Record{}, false, w.ctx.Err()
}

// delayed returns the result of a write after a time, whatever its context.
func delayed(after time.Duration) hook {
	return func(w write) (driver.Record, bool, error) {
		met, ok, err := w.send()
		time.Sleep(after)
		return met, ok, err
	}
}

// meets does not send the write either, and returns the record that is stored: a
// conflict of another kind.
func meets(store driver.Store) hook {
	return func(w write) (driver.Record, bool, error) {
		met, err := store.Get(w.ctx, w.record.ID+w.fence.ID)
		return met, false, err
	}
}

// slow sends a write after a time, unless its context ends before.
func slow(d time.Duration) hook {
	return func(w write) (driver.Record, bool, error) {
		select {
		case <-time.After(d):
			return w.send()
		case <-w.ctx.Done():
			return driver.Record{}, false, w.ctx.Err()
		}
	}
}

// hooks are the part of a store that a test replaces.
type hooks struct {
	on           hook
	get          func(ctx context.Context) (driver.Record, error) // in place of the store's; nil: its own
	mu           sync.Mutex                                       // of the counts
	reads, tries int                                              // tries to write
}

func (h *hooks) write(w write) (driver.Record, bool, error) {
	h.mu.Lock()
	h.tries++
	h.mu.Unlock()
	if h.on == nil {
		return w.send()
	}
	return h.on(w)
}

func (h *hooks) read(ctx context.Context, id string, get func(context.Context, string) (driver.Record, error)) (driver.Record, error) {
	h.mu.Lock()
	h.reads++
	h.mu.Unlock()
	if h.get == nil {
		return get(ctx, id)
	}
	return h.get(ctx)
}

// hungGet is a read without an answer.
func hungGet(ctx context.Context) (driver.Record, error) {
	<-ctx.Done()
	return driver.Record{}, ctx.Err()
}

// proxy is a store behind hooks.
type proxy struct {
	driver.Store
	hooks
}

func hooked(store driver.Store, on hook) *proxy { return &proxy{Store: store, hooks: hooks{on: on}} }

func (p *proxy) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return p.write(write{ctx: ctx, record: r, cutoff: cutoff, send: func() (driver.Record, bool, error) { return p.Store.Create(ctx, r, cutoff, with) }})
}

func (p *proxy) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return p.write(write{ctx: ctx, fence: f, change: c, send: func() (driver.Record, bool, error) { return p.Store.Change(ctx, f, c) }})
}

func (p *proxy) Get(ctx context.Context, id string) (driver.Record, error) {
	return p.read(ctx, id, p.Store.Get)
}
