package lanes

import (
	"context"
	"time"
)

// A Turn is the place of a record among those of its event. Its methods are
// safe for concurrent use.
//
// Its method Arrive is for adapter.Sibling.
type Turn struct {
	b     *batchRun
	index int
	// The next records in the lane and with the same key, or -1.
	nextInLane, nextDuplicate int
	duplicate                 bool
	// begun and cancel are nil if the record begins in its turn.
	begun  chan struct{}
	cancel context.CancelCauseFunc

	// Guarded by b.mu.
	blocked    int  // records to wait for
	launched   bool // it has a goroutine
	granted    bool // its turn has begun
	since      time.Time
	refused    error // why its turn does not begin
	running    bool  // it counts for Concurrency
	expected   bool  // it is about to write
	completing bool  // its turn has begun, and its completion has not arrived
	yields     bool  // it has called Yield, and has not ended
	hurry      *time.Timer
	ended      bool
	result     error // of its function, if returned is true
	returned   bool
}

// Index returns the record's index in the event.
func (t *Turn) Index() int { return t.index }

// Ahead reports whether the record has begun before its turn.
func (t *Turn) Ahead() bool { return t.begun != nil }

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
	if !t.decided() {
		t.expect(false)
		b.mu.Unlock()
		select {
		case <-t.begun:
		case <-yield:
		case <-ctx.Done():
		}
		b.mu.Lock()
		switch {
		case t.decided():
		case b.ctx.Err() != nil:
			b.refuseLate()
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			t.expect(true) // it releases its claim
			return b.Errors.Yielded
		}
	}
	t.expect(true)
	return t.refused
}

// Delayed reports whether the turn began so long ago that other records should
// not have to wait for more.
func (t *Turn) Delayed() bool {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	return t.granted && time.Since(t.since) > patience
}

// Yield reports that the record, in its turn, waits for a claim of another
// event, which may itself wait for a claim of this event. Until the record has
// ended, none keeps a claim before its turn. From now on, no completion waits: the
// other event may need its result. Before the turn, Yield does nothing.
func (t *Turn) Yield() {
	b := t.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.yields || !t.granted {
		return
	}
	t.yields = true
	b.stopHolding()
	if b.yielding++; b.yielding == 1 {
		close(b.yield)
	}
}

// Returned reports that the record's function has returned. Its result may not
// be recorded yet.
func (t *Turn) Returned() {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	if t.running {
		t.running = false
		t.b.running--
		t.b.advance()
	}
}

// Arrive reports that the record's write has reached the store, and returns how
// many others are about to write. A completion may wait for the functions that
// run until late is closed. One that is sent again does not wait again.
func (t *Turn) Arrive() (coming int, late <-chan struct{}) {
	b := t.b
	b.mu.Lock()
	defer b.mu.Unlock()
	t.expect(false)
	if !t.granted || t.running {
		return b.coming, nil
	}
	first := t.completing
	t.completed()
	switch coming = b.coming + b.completing; {
	case coming == 0 || !first || b.prompt || t.nextInLane >= 0 || t.nextDuplicate >= 0:
		return coming, nil
	case b.full():
		return b.claims(), nil
	case b.late():
		return 0, nil
	}
	return coming, b.hold()
}

// decided reports whether the record can no longer be refused, or begin.
func (t *Turn) decided() bool { return t.granted || t.refused != nil || t.ended }

// wake ends the wait of Take, or the one to come. The record writes next: it is
// completed, or released.
func (t *Turn) wake() {
	t.expect(true)
	close(t.begun)
}

// expect counts the record among those that are about to write.
func (t *Turn) expect(write bool) {
	if t.expected == write {
		return
	}
	t.expected = write
	if write {
		t.b.coming++
		return
	}
	t.b.coming--
	t.b.endHoldAfterLast()
}

// completed counts the record no longer among those whose completion is to come.
func (t *Turn) completed() {
	if t.completing {
		t.completing = false
		t.b.completing--
		t.b.endHoldAfterLast()
	}
}
