package lanes

import (
	"context"
	"time"
)

// phase is how far a record is.
type phase uint8

const (
	waiting   phase = iota // for records before it, or for room
	ahead                  // it has begun before its turn
	running                // it has its turn
	returned               // its function has returned, and its completion has not arrived
	completed              // its completion has arrived
	refused                // it has begun ahead, has no turn, and releases its claim
	skipped                // it does not run any more, and a record before it is not over
	over
	phases
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
	phase    phase
	blocked  int       // records to wait for
	since    time.Time // of its turn
	expected bool      // it is about to write
	yields   bool      // it has called Yield, and has not ended
	hurry    *time.Timer
	result   error
	returned bool // its function has not ended the goroutine
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

// isDecided reports whether the record can no longer be refused, or begin.
func (t *Turn) isDecided() bool { return t.phase > ahead }

// hasTurn reports whether the turn has begun and not ended.
func (t *Turn) hasTurn() bool { return t.phase >= running && t.phase <= completed }

// set moves a record to a phase.
func (b *batchRun) set(t *Turn, p phase) {
	b.in[t.phase]--
	t.phase = p
	b.in[p]++
	b.flushAfterLast()
}

// unrecorded returns how many records have begun their turn and have not ended.
func (b *batchRun) unrecorded() int { return b.in[running] + b.in[returned] + b.in[completed] }

// toCome returns how many writes are to come: of records that are about to write, and
// of functions that have not sent their completion.
func (b *batchRun) toCome() int { return b.coming + b.in[running] + b.in[returned] }

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
	t.b.flushAfterLast()
}
