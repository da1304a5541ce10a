package idempotent_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// bank is a store with transactions: what handlers attach is booked together
// with the record, or neither is.
type bank struct {
	*idempotent.Memory
	mu     sync.Mutex
	booked []string
	// The hooks of the writes that carry an attachment. after is called when
	// it is done; an error of before comes instead of the write.
	before, after func(*entry) error
}

// entry is what a handler attaches.
type entry struct {
	what    string
	refused error // by its own condition
	sealErr error
	sealed  int
}

func (e *entry) Seal() (bool, error) { e.sealed++; return e.what == "", e.sealErr }

func book(ctx context.Context, what string) *entry {
	e := idempotent.Attach(ctx, func() *entry { return &entry{} })
	e.what = what
	return e
}

func newBank() *bank { return &bank{Memory: idempotent.NewMemory(0)} }

func (b *bank) with(with any, write func(over *idempotent.Record) (idempotent.Record, bool, error)) (idempotent.Record, bool, error) {
	e, ok := with.(*entry)
	if !ok {
		return write(nil)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.before != nil {
		if err := b.before(e); err != nil {
			return idempotent.Record{}, false, err
		}
	}
	r, won, err := write(nil)
	if won && err == nil {
		b.booked = append(b.booked, e.what)
		if b.after != nil {
			err = b.after(e)
		}
	}
	return r, won && err == nil, err
}

func (b *bank) Create(ctx context.Context, r idempotent.Record, over time.Time, with any) (idempotent.Record, bool, error) {
	if e, ok := with.(*entry); ok && e.refused != nil {
		if met, err := b.Get(ctx, r.ID); err != nil || !met.Over(over) {
			return met, false, err
		}
		return idempotent.Record{}, false, &idempotent.Rejected{Err: e.refused}
	}
	return b.with(with, func(*idempotent.Record) (idempotent.Record, bool, error) { return b.Memory.Create(ctx, r, over, nil) })
}

func (b *bank) Change(ctx context.Context, f idempotent.Fence, c idempotent.Change) (idempotent.Record, bool, error) {
	if e, ok := c.With.(*entry); ok && e.refused != nil {
		if met, err := b.Get(ctx, f.ID); err != nil || met.Owner != f.Owner || met.Status != idempotent.InProgress {
			return met, false, err
		}
		return idempotent.Record{}, false, &idempotent.Rejected{Err: e.refused}
	}
	with := c.With
	c.With = nil
	return b.with(with, func(*idempotent.Record) (idempotent.Record, bool, error) { return b.Memory.Change(ctx, f, c) })
}

func (b *bank) Commit(_ context.Context, _ string, with any) error {
	if e := with.(*entry); e.refused != nil {
		return &idempotent.Rejected{Err: e.refused}
	}
	_, _, err := b.with(with, func(*idempotent.Record) (idempotent.Record, bool, error) { return idempotent.Record{}, true, nil })
	return err
}

func (b *bank) holds(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(b.booked, want) {
		t.Errorf("booked %q, want %q", b.booked, want)
	}
}

func books(what string, refused error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		book(ctx, what).refused = refused
		return what, nil
	}
}
