package lanes

import (
	"context"
	"slices"
	"sync"
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
	e := execution{Runner: r, halt: s.Halt, ctx: ctx, one: one, turns: make([]Turn, size), results: make([]error, size), reach: size, yield: make(chan struct{})}
	e.connect(s)
	e.mu.Lock()
	e.advance()
	e.mu.Unlock()
	defer context.AfterFunc(ctx, e.timeUp)()
	if !r.LastStart.IsZero() {
		defer time.AfterFunc(time.Until(r.LastStart), e.timeUp).Stop()
	}
	e.group.Wait()
	return e.results
}

// execution is one event that is being run.
type execution struct {
	Runner
	halt  Halt
	ctx   context.Context
	one   func(context.Context, *Turn) error
	group sync.WaitGroup

	mu      sync.Mutex
	turns   []Turn
	results []error
	ready   []int // records that wait for no other, in ascending order
	next    int   // the next record that may begin before its turn
	reach   int   // records from here on are refused already
	free    *task // of a goroutine whose record has returned
	// How many records are in each state.
	running, unrecorded, waiting, coming, yielding int
	yield                                          chan struct{} // closed while a record yields
}

// connect links each record with those that wait for it.
func (e *execution) connect(s Schedule) {
	for i := range e.turns {
		e.turns[i] = Turn{e: e, index: i, nextInLane: -1, nextDuplicate: -1}
	}
	for _, lane := range s.Lanes {
		for at, i := range lane[1:] {
			e.turns[lane[at]].nextInLane = i
			e.turns[i].blocked++
		}
	}
	for i, before := range s.Duplicates {
		if before >= 0 {
			e.turns[before].nextDuplicate = i
			e.turns[i].blocked++
			e.turns[i].duplicate = true
		}
	}
	for i := range e.turns {
		if e.turns[i].blocked == 0 {
			e.ready = append(e.ready, i)
		}
	}
}

// advance begins every turn that can begin, and then records before their turn.
// A duplicate never begins before its turn: it would meet the claim of a record
// that may itself be waiting.
func (e *execution) advance() {
	for len(e.ready) > 0 && e.running < e.Concurrency && e.unrecorded < e.Unrecorded {
		if e.late() {
			e.refuseLate()
			return
		}
		t := &e.turns[e.ready[0]]
		e.ready = e.ready[1:]
		if !t.decided() {
			e.begin(t)
		}
	}
	for ; e.next < len(e.turns) && e.waiting < e.Ahead && e.yielding == 0 && !e.late(); e.next++ {
		if t := &e.turns[e.next]; !t.launched && !t.decided() && !t.duplicate {
			t.begun = make(chan struct{})
			e.waiting++
			e.launch(t)
		}
	}
}

func (e *execution) late() bool {
	return e.ctx.Err() != nil || !e.LastStart.IsZero() && time.Now().After(e.LastStart)
}

// begin begins a turn.
func (e *execution) begin(t *Turn) {
	t.granted, t.running, t.since = true, true, time.Now()
	e.running++
	e.unrecorded++
	if !t.launched {
		e.launch(t)
		return
	}
	e.waiting--
	t.wake()
}

func (e *execution) launch(t *Turn) {
	t.launched = true
	t.expect(true)
	ctx := e.ctx
	if t.Ahead() {
		ctx, t.cancel = context.WithCancelCause(ctx)
	}
	if e.free != nil {
		*e.free, e.free = task{t, ctx}, nil
		return
	}
	e.group.Go(func() { e.work(task{t, ctx}) })
}

// end records the result of a record, and begins what waited for it. A goroutine
// that is not ending takes next.
func (e *execution) end(t *Turn, next *task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.returned {
		e.free = next
		defer func() { e.free = nil }()
	}
	t.ended = true
	t.expect(false)
	if t.hurry != nil {
		t.hurry.Stop()
	}
	if t.cancel != nil {
		t.cancel(nil)
	}
	if t.running {
		e.running--
	}
	if t.yields {
		if e.yielding--; e.yielding == 0 {
			e.yield = make(chan struct{})
		}
	}
	if t.granted {
		e.unrecorded--
	} else {
		e.waiting-- // a refused record counts until it has released its claim
	}
	switch {
	case t.refused != nil:
	case t.returned:
		e.results[t.index] = t.result
	default:
		e.results[t.index] = e.Errors.Unfinished
	}
	if t.refused == nil && e.results[t.index] != nil {
		e.failed(t)
	}
	e.release(t)
	e.advance()
}

// release unblocks the records that waited for t.
func (e *execution) release(t *Turn) {
	for _, i := range []int{t.nextInLane, t.nextDuplicate} {
		if i < 0 {
			continue
		}
		next := &e.turns[i]
		next.blocked--
		switch {
		case next.blocked > 0:
		case !next.decided():
			at, _ := slices.BinarySearch(e.ready, i)
			e.ready = slices.Insert(e.ready, at, i)
		case !next.launched:
			e.release(next) // it was refused, and what it waited for has ended
		}
	}
}
