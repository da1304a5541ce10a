// Package lanes runs the records of an event and decides which of them wait:
// the records of a lane run in order, lanes run at the same time, and two
// records with the same key never do.
package lanes

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Schedule lists the records of each lane by their index in the event.
type Schedule struct {
	Lanes [][]int
	Halt  Halt
}

// Halt says what does not start after a record has failed.
type Halt uint8

const (
	HaltNothing Halt = iota
	HaltLane         // what follows it in its lane
	HaltEvent        // what follows it in the event, in any lane
)

// InOrder returns one lane of all records.
func InOrder(size int) [][]int {
	lane := make([]int, size)
	for i := range lane {
		lane[i] = i
	}
	return [][]int{lane}
}

// Separate returns a lane for each record.
func Separate(size int) [][]int {
	return By(size, func(i int) int { return i })
}

// By puts records with the same name into one lane. Lanes are in the order of
// their first records.
func By[N comparable](size int, name func(i int) N) [][]int {
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

// A Runner runs events within its limits.
type Runner struct {
	Concurrency int
	// LastStart is the time after which no record starts. The zero time sets
	// no limit.
	LastStart time.Time
	Errors    Errors
}

// Errors are the results of records that did not run, or did not return.
type Errors struct {
	OutOfTime    error // LastStart has passed, or the context is done
	AfterFailure error // see Halt
	Unfinished   error // the record ended its goroutine
}

// Run calls one for each of size records and returns their results in the
// order of the event. It returns when all that were started have returned.
//
// Every record runs on a goroutine of Run's, even one at a time: a handler
// that ends its goroutine (runtime.Goexit) must not end the invocation's,
// which would leave Lambda without a response.
func (r Runner) Run(ctx context.Context, s Schedule, size int, one func(context.Context, int) error) []error {
	e := execution{Runner: r, Schedule: s, one: one, results: make([]error, size)}
	for i := range e.results {
		e.results[i] = r.Errors.Unfinished
	}
	e.lowest.Store(int64(size))
	var group sync.WaitGroup
	for range min(r.Concurrency, len(s.Lanes)) {
		group.Go(func() { e.work(ctx) })
	}
	group.Wait()
	return e.results
}

type execution struct {
	Runner
	Schedule
	one     func(context.Context, int) error
	results []error
	taken   atomic.Int64 // lanes
	lowest  atomic.Int64 // index of a failed record
}

func (e *execution) work(ctx context.Context) {
	for {
		next := int(e.taken.Add(1)) - 1
		if next >= len(e.Lanes) {
			return
		}
		e.follow(ctx, e.Lanes[next])
	}
}

func (e *execution) follow(ctx context.Context, lane []int) {
	failed := false
	for _, i := range lane {
		switch {
		case failed && e.Halt == HaltLane, e.Halt == HaltEvent && int64(i) > e.lowest.Load():
			e.results[i] = e.Errors.AfterFailure
		case ctx.Err() != nil, !e.LastStart.IsZero() && time.Now().After(e.LastStart):
			e.results[i] = e.Errors.OutOfTime
		default:
			e.results[i] = e.one(ctx, i)
		}
		if e.results[i] != nil {
			failed = true
			e.lower(int64(i))
		}
	}
}

func (e *execution) lower(i int64) {
	for {
		lowest := e.lowest.Load()
		if i >= lowest || e.lowest.CompareAndSwap(lowest, i) {
			return
		}
	}
}
