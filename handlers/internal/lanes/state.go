package lanes

import (
	"context"
	"sync"
	"time"
)

// The types of an event and its records stand here, below the files that move them.

// batchRun is one event that is being run.
type batchRun struct {
	Runner
	halt  Halt
	ctx   context.Context
	one   func(context.Context, *Turn) error
	group sync.WaitGroup

	mu      sync.Mutex
	turns   []Turn
	results []error
	in      [phases]int // how many records are in each phase
	ready   []int       // records that wait for no other, in ascending order
	next    int         // the next record that may begin before its turn
	reach   int         // records from here on are refused already
	free    *task       // of a goroutine whose record has returned

	coming, yielding int           // how many records are about to write, and yield
	yield            chan struct{} // closed while a record yields
	flushed          chan struct{} // closed when completions may not linger, or nil if none does
	lingers          *time.Timer   // until then
	prompt           bool          // no completion lingers
	awaiting         int           // records in AwaitRecorded
	recorded         chan struct{} // closed when the next record ends, or nil if none waits for it
}

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

// A task is a record to run, and its context.
type task struct {
	turn *Turn
	ctx  context.Context
}

// Ahead reports whether the record has begun before its turn.
func (t *Turn) Ahead() bool { return t.begun != nil }

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

func (b *batchRun) isTimeUp() bool {
	return b.ctx.Err() != nil || !b.LastStart.IsZero() && time.Now().After(b.LastStart)
}

// flush ends the wait of completions.
func (b *batchRun) flush() {
	if b.flushed != nil {
		b.lingers.Stop()
		close(b.flushed)
		b.flushed = nil
	}
}

// flushAfterLast ends the wait of completions if no write is to come.
func (b *batchRun) flushAfterLast() {
	if b.toCome() == 0 {
		b.flush()
	}
}
