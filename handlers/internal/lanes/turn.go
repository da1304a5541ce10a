package lanes

import (
	"context"
	"time"
)

// Index returns the record's index in the event.
func (t *Turn) Index() int { return t.index }

// Take waits for the turn. It returns an error of [Errors] if the turn does not
// begin. If ctx ends before that is decided, Take returns its cause, and may be
// called again.
func (t *Turn) Take(ctx context.Context) error { return t.take(ctx, nil) }

// TakeClaimed is [Turn.Take] for a record that has claimed. It also returns an
// error, and may be called again, while another record yields (see
// [Turn.Yield]).
func (t *Turn) TakeClaimed(ctx context.Context) error {
	t.b.mu.Lock()
	yield := t.b.yield
	t.b.mu.Unlock()
	return t.take(ctx, yield)
}

func (t *Turn) take(ctx context.Context, yield <-chan struct{}) error {
	b := t.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if !t.isDecided() {
		t.expect(false)
		b.mu.Unlock()
		select {
		case <-t.begun:
		case <-yield:
		case <-ctx.Done():
		}
		b.mu.Lock()
		switch {
		case t.isDecided():
		case b.ctx.Err() != nil:
			b.refuseAll()
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			t.expect(true) // it releases its claim
			return b.Errors.Yielded
		}
	}
	t.expect(true)
	if t.phase == refused {
		return b.results[t.index]
	}
	return nil
}

// Delayed reports whether the turn began so long ago that other records should
// not have to wait for more.
func (t *Turn) Delayed() bool {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	return t.hasTurn() && time.Since(t.since) > patience
}

// Yield reports that the record, in its turn, waits for a claim of another
// event, which may itself wait for a claim of this event. Until the record has
// ended, none keeps a claim before its turn. From now on, no completion lingers: the
// other event may need its result. Before the turn, Yield does nothing.
func (t *Turn) Yield() {
	b := t.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.yields || !t.hasTurn() {
		return
	}
	t.yields = true
	b.stopLingering()
	if b.yielding++; b.yielding == 1 {
		close(b.yield)
	}
}

// Returned reports that the record's function has returned. Its result may not
// be recorded yet.
func (t *Turn) Returned() {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	if t.phase == running {
		t.b.set(t, returned)
		t.b.advance()
	}
}

// Arrive reports that the record's write has reached the store, and returns how
// many others are about to write. A completion may linger for the functions that
// run, until end is closed. One that is sent again does not linger again.
func (t *Turn) Arrive() (coming int, end <-chan struct{}) {
	b := t.b
	b.mu.Lock()
	defer b.mu.Unlock()
	t.expect(false)
	if !t.hasTurn() || t.phase == running {
		return b.coming, nil
	}
	first := t.phase == returned
	b.set(t, completed)
	switch coming = b.toCome(); {
	case coming == 0 || !first || b.prompt || t.nextInLane >= 0 || t.nextDuplicate >= 0:
		return coming, nil
	case b.isFull():
		return b.claims(), nil
	case b.isTimeUp():
		return 0, nil
	}
	return coming, b.linger()
}
