package lanes

import (
	"context"
	"slices"
	"time"
)

// A Runner runs events within its limits.
type Runner struct {
	// Concurrency is how many records have their turn at once. A record's turn
	// ends when its function has returned.
	Concurrency int
	// Unrecorded is how many records have begun their turn and have not ended.
	// 0 stands for Concurrency.
	Unrecorded int
	// Ahead is how many records begin before their turn.
	Ahead int
	// LastStart is the time after which no turn begins. The zero time sets no
	// limit.
	LastStart time.Time
	Errors    Errors
}

// Reasons why a record did not run.
const (
	OutOfTime    = "the time left is less than the margin, or the invocation was cancelled"
	AfterFailure = "a record before it failed"
)

// Errors are the results of records that did not run, or did not return.
type Errors struct {
	OutOfTime    error // LastStart has passed, or the context is done
	AfterFailure error // see Halt
	Unfinished   error // the record ended its goroutine
	Yielded      error // no result: see Turn.TakeClaimed
}

// Run calls one for each of size records and returns their results in the
// order of the event. It returns when all that were started have returned.
//
// Turns begin in the order of the event, except where a record waits for
// another. A record that begins before its turn takes the turn itself, with
// [Turn.Take]. If its turn is refused, its context ends a moment later: a claim
// that hangs must not delay the event.
//
// Records never run on the goroutine of Run, even one at a time: a handler that
// ends its goroutine (runtime.Goexit) must not end the invocation's, which would
// leave Lambda without a response.
func (r Runner) Run(ctx context.Context, s Schedule, size int, one func(context.Context, *Turn) error) []error {
	if r.Unrecorded == 0 {
		r.Unrecorded = r.Concurrency
	}
	b := batchRun{Runner: r, halt: s.Halt, ctx: ctx, one: one, turns: make([]Turn, size), results: make([]error, size), reach: size, yield: make(chan struct{})}
	b.connect(s)
	b.mu.Lock()
	b.advance()
	b.mu.Unlock()
	defer context.AfterFunc(ctx, b.timeUp)()
	if !r.LastStart.IsZero() {
		defer time.AfterFunc(time.Until(r.LastStart), b.timeUp).Stop()
	}
	b.group.Wait()
	return b.results
}

// connect links each record with those that wait for it.
func (b *batchRun) connect(s Schedule) {
	b.in[waiting] = len(b.turns)
	for i := range b.turns {
		b.turns[i] = Turn{b: b, index: i, nextInLane: -1, nextDuplicate: -1}
	}
	for _, lane := range s.Lanes {
		for at, i := range lane[1:] {
			b.turns[lane[at]].nextInLane = i
			b.turns[i].blocked++
		}
	}
	for i, before := range s.Duplicates {
		if before >= 0 {
			b.turns[before].nextDuplicate = i
			b.turns[i].blocked++
			b.turns[i].duplicate = true
		}
	}
	for i := range b.turns {
		if b.turns[i].blocked == 0 {
			b.ready = append(b.ready, i)
		}
	}
}

// advance begins every turn that can begin, and then records before their turn.
// A duplicate never begins before its turn: it would meet the claim of a record
// that may itself be waiting.
func (b *batchRun) advance() {
	for b.hasReady() && b.awaiting == 0 && b.in[running] < b.Concurrency && b.unrecorded() < b.Unrecorded {
		if b.isTimeUp() {
			b.refuseAll()
			return
		}
		t := &b.turns[b.ready[0]]
		b.ready = b.ready[1:]
		b.begin(t)
	}
	for ; b.next < len(b.turns) && b.in[ahead]+b.in[refused] < b.Ahead && b.yielding == 0 && !b.isTimeUp(); b.next++ {
		if t := &b.turns[b.next]; t.phase == waiting && !t.duplicate {
			t.begun = make(chan struct{})
			b.set(t, ahead)
			b.launch(t)
		}
	}
	if b.isFull() {
		b.flush()
	}
}

// hasReady reports whether a record waits for room alone. It first drops refused ones, so
// that they do not count in isFull either.
func (b *batchRun) hasReady() bool {
	for len(b.ready) > 0 && b.turns[b.ready[0]].isDecided() {
		b.ready = b.ready[1:]
	}
	return len(b.ready) > 0
}

// begin begins a turn.
func (b *batchRun) begin(t *Turn) {
	b.set(t, running)
	t.since = time.Now()
	if t.Ahead() {
		t.wake()
	} else {
		b.launch(t)
	}
}

func (b *batchRun) launch(t *Turn) {
	t.expect(true)
	ctx := b.ctx
	if t.Ahead() {
		ctx, t.cancel = context.WithCancelCause(ctx)
	}
	if b.free != nil {
		*b.free, b.free = task{t, ctx}, nil
		return
	}
	b.group.Go(func() { b.work(task{t, ctx}) })
}

// end records the result of a record, and begins the records that waited for it. A goroutine
// that is not ending takes next.
func (b *batchRun) end(t *Turn, next *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.returned {
		b.free = next
		defer func() { b.free = nil }()
	}
	isRefused := t.phase == refused
	t.expect(false)
	b.set(t, over)
	if t.hurry != nil {
		t.hurry.Stop()
	}
	if t.cancel != nil {
		t.cancel(nil)
	}
	if t.yields {
		if b.yielding--; b.yielding == 0 {
			b.yield = make(chan struct{})
		}
	}
	if b.recorded != nil {
		close(b.recorded)
		b.recorded = nil
	}
	if !isRefused {
		if b.results[t.index] = t.result; t.result != nil {
			b.failed(t)
		}
	}
	b.release(t)
	b.advance()
}

// release unblocks the records that waited for t, which does not run any more. While t
// itself waits for a record, so do they.
func (b *batchRun) release(t *Turn) {
	if t.blocked > 0 {
		b.set(t, skipped)
		return
	}
	b.set(t, over)
	for _, i := range []int{t.nextInLane, t.nextDuplicate} {
		if i < 0 {
			continue
		}
		next := &b.turns[i]
		next.blocked--
		switch {
		case next.blocked > 0:
		case !next.isDecided():
			at, _ := slices.BinarySearch(b.ready, i) // never found: a record becomes ready once
			b.ready = slices.Insert(b.ready, at, i)
		case next.phase == skipped:
			b.release(next)
		}
	}
}
