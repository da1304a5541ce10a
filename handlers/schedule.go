package handlers

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// schedule says which records of an event wait for which. The records of a
// lane run one after the other, in its order; lanes run at the same time.
type schedule struct {
	lanes [][]int
	halt  halt
}

// halt is what a failed record keeps from starting.
type halt uint8

const (
	haltNone  halt = iota
	haltLane       // what follows it in its lane
	haltAfter      // what follows it in the event, in whatever lane
)

// inOrder is one lane.
func inOrder(size int) [][]int {
	lane := make([]int, size)
	for i := range lane {
		lane[i] = i
	}
	return [][]int{lane}
}

// apart is a lane each.
func apart(size int) [][]int {
	return byLane(size, func(i int) int { return i })
}

// byLane puts records with the same name into one lane. Lanes come in the
// order of their first records.
func byLane[N comparable](size int, name func(i int) N) [][]int {
	places := make(map[N]int, size)
	var lanes [][]int
	for i := range size {
		n := name(i)
		place, ok := places[n]
		if !ok {
			place = len(lanes)
			places[n] = place
			lanes = append(lanes, nil)
		}
		lanes[place] = append(lanes[place], i)
	}
	return lanes
}

// run answers how each record ended: nil is done. It returns when all that
// were started have ended.
//
// All run on goroutines of their own, also one at a time: a handler that ends
// its goroutine (runtime.Goexit) must not end the invocation's, which would
// leave Lambda without an answer.
func (s schedule) run(ctx context.Context, size, concurrency int, lastStart time.Time, one func(context.Context, int) error) []error {
	r := running{schedule: s, one: one, ends: make([]error, size), lastStart: lastStart}
	for i := range r.ends {
		r.ends[i] = errUnfinished
	}
	r.lowest.Store(int64(size))
	var group sync.WaitGroup
	for range min(concurrency, len(s.lanes)) {
		group.Go(func() { r.work(ctx) })
	}
	group.Wait()
	return r.ends
}

type running struct {
	schedule
	one       func(context.Context, int) error
	ends      []error
	lastStart time.Time    // zero: no limit
	taken     atomic.Int64 // lanes
	lowest    atomic.Int64 // index of a failed record
}

func (r *running) work(ctx context.Context) {
	for {
		next := int(r.taken.Add(1)) - 1
		if next >= len(r.lanes) {
			return
		}
		r.follow(ctx, r.lanes[next])
	}
}

func (r *running) follow(ctx context.Context, lane []int) {
	failed := false
	for _, i := range lane {
		switch {
		case failed && r.halt == haltLane, r.halt == haltAfter && int64(i) > r.lowest.Load():
			r.ends[i] = errAfterOther
		case ctx.Err() != nil, !r.lastStart.IsZero() && time.Now().After(r.lastStart):
			r.ends[i] = errOutOfTime
		default:
			r.ends[i] = r.one(ctx, i)
		}
		if r.ends[i] != nil {
			failed = true
			r.lower(int64(i))
		}
	}
}

func (r *running) lower(i int64) {
	for {
		lowest := r.lowest.Load()
		if i >= lowest || r.lowest.CompareAndSwap(lowest, i) {
			return
		}
	}
}
