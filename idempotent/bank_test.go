package idempotent_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// bank is a store with transactions: what handlers attach is booked together
// with the record, or neither is.
type bank struct {
	*memory.Store
	hooks
	booking sync.Mutex
	booked  []string
	// The hooks of the writes that carry an attachment. after is called when
	// it is done; an error of before comes instead of the write.
	before, after func(*entry) error
}

// Volatile returns false: the bank is a server.
func (b *bank) Volatile() bool { return false }

// entry is what a handler attaches.
type entry struct {
	what    string
	refused error // by its own condition
	sealErr error
	sealed  int
}

func (e *entry) Freeze() (bool, error) { e.sealed++; return e.what == "", e.sealErr }

func book(ctx context.Context, what string) *entry {
	e := driver.Attach(ctx, func() *entry { return &entry{} })
	e.what = what
	return e
}

func newBank() *bank { return &bank{Store: memory.New(0)} }

func (b *bank) with(with any, write func() (driver.Record, bool, error)) (driver.Record, bool, error) {
	e, ok := with.(*entry)
	if !ok {
		return write()
	}
	b.booking.Lock()
	defer b.booking.Unlock()
	if b.before != nil {
		if err := b.before(e); err != nil {
			return driver.Record{}, false, err
		}
	}
	r, won, err := write()
	if won && err == nil {
		b.booked = append(b.booked, e.what)
		if b.after != nil {
			err = b.after(e)
		}
	}
	return r, won && err == nil, err
}

func (b *bank) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	return b.write(write{ctx: ctx, record: r, cutoff: cutoff, send: func() (driver.Record, bool, error) { return b.create(ctx, r, cutoff, with) }})
}

func (b *bank) Change(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	return b.write(write{ctx: ctx, fence: f, change: c, send: func() (driver.Record, bool, error) { return b.apply(ctx, f, c) }})
}

func (b *bank) Get(ctx context.Context, id string) (driver.Record, error) {
	return b.read(ctx, id, b.Store.Get)
}

func (b *bank) create(ctx context.Context, r driver.Record, over time.Time, with any) (driver.Record, bool, error) {
	if err := ctx.Err(); err != nil { // as a client, which does not say whether anything was sent
		return driver.Record{}, false, err
	}
	if e, ok := with.(*entry); ok && e.refused != nil {
		if met, err := b.Store.Get(ctx, r.ID); err != nil || !met.Expired(over) {
			return met, false, err
		}
		return driver.Record{}, false, &driver.Rejected{Err: e.refused}
	}
	return b.with(with, func() (driver.Record, bool, error) { return b.Store.Create(ctx, r, over, nil) })
}

func (b *bank) apply(ctx context.Context, f driver.Fence, c driver.Change) (driver.Record, bool, error) {
	if e, ok := c.With.(*entry); ok && e.refused != nil {
		if met, err := b.Store.Get(ctx, f.ID); err != nil || met.Owner != f.Owner || met.Status != driver.InProgress {
			return met, false, err
		}
		return driver.Record{}, false, &driver.Rejected{Err: e.refused}
	}
	with := c.With
	c.With = nil
	return b.with(with, func() (driver.Record, bool, error) { return b.Store.Change(ctx, f, c) })
}

func (b *bank) Commit(_ context.Context, _ string, with any) error {
	if e := with.(*entry); e.refused != nil {
		return &driver.Rejected{Err: e.refused}
	}
	_, _, err := b.with(with, func() (driver.Record, bool, error) { return driver.Record{}, true, nil })
	return err
}

func (b *bank) holds(t *testing.T, want ...string) {
	t.Helper()
	check.Slice(t, b.booked, want)
}

func books(what string, refused error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		book(ctx, what).refused = refused
		return what, nil
	}
}
