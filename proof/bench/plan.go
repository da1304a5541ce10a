package main

import (
	"fmt"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A plan is a whole run.
type plan struct {
	// There are so many rounds at least, and further ones for time.
	atLeast int
	time    time.Duration
	// part of the usual number of calls are made.
	part float64
	// sizes are those of the results whose capacity is metered.
	sizes []int
	// latencies are injected. The first is 0.
	latencies []time.Duration
	// tableSizes are the numbers of records that tables have.
	tableSizes []int
}

// long is the plan of "make bench". records is the size of the largest table.
func long(while time.Duration, records int) plan {
	p := plan{
		atLeast: 3, time: while, part: 1,
		sizes:     []int{100, 1000, 4000, 10_000, 100 << 10},
		latencies: []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond},
	}
	for n := 10; n < records; n *= 100 {
		p.tableSizes = append(p.tableSizes, n)
	}
	p.tableSizes = append(p.tableSizes, records)
	return p
}

// A scenario is the work of several series, one after the other, in each round.
type scenario struct {
	work.Case // of any series
	calls     int
	by        []series
	keys      int // a number, which repetitions share with the first calls
}

// counted names the scenario in the table of counts. The same name has the same count.
func (s scenario) counted() string {
	switch {
	case s.Metered && s.Kind == work.Steps:
		return "capacity of steps"
	case s.Metered:
		return "capacity of calls"
	case s.Kind == work.Steps:
		return "calls with steps"
	case s.Kind == work.Queue, s.Kind == work.Requeue, s.Kind == work.Stream, s.Kind == work.Restream:
		return fmt.Sprintf("batches of %d", s.Size)
	case s.Kind == work.Memory, s.Kind == work.Yardstick:
		return "duplicates in memory, beside JSON"
	case s.Kind == work.Cached:
		return "cached duplicates"
	case s.Records > 0:
		return "calls by the size of the table"
	}
	of := map[work.Server]string{work.PostgreSQL: "PostgreSQL and Redis", work.Durable: "PostgreSQL and Redis", work.Process: "memory"}[work.All[s.by[0].name].On]
	if of == "" {
		of = "DynamoDB"
	}
	return fmt.Sprintf("calls of %s, %s", of, calling(s.Callers))
}

// A series is a way to make calls, as the page shows it. Package work knows it by name.
type series struct{ name, label, color string }

// The colors can be told apart on a light and on a dark background.
const (
	grey   = "#8b949e"
	blue   = "#3b82f6"
	green  = "#2ea043"
	violet = "#a371f7"
	pink   = "#db61a2"
	orange = "#e86a17"
	yellow = "#b58900"
)

var (
	callSeries = []series{
		{"hand", "SDK by hand", grey}, {"once", "Once", blue}, {"grouped", "Once, Group 1", green},
		{"grouped-4", "Once, Group 4", violet}, {"typescript", "TypeScript by hand", pink}, powertools,
	}
	powertools    = series{"powertools", "Powertools for TypeScript", orange}
	meteredSeries = []series{callSeries[0], callSeries[1], {"read-first", "Once, ReadFirst", violet}, powertools}
	storeSeries   = []series{
		{"hand", "DynamoDB by hand", grey}, {"once", "Once on DynamoDB", blue},
		{"postgres-hand", "PostgreSQL by hand", violet}, {"postgres", "Once on PostgreSQL", green},
		{"redis-hand", "Redis by hand", yellow}, {"redis", "Once on Redis", orange}, {"memory", "Once in memory", pink},
	}
	durableSeries = []series{
		{"durable-hand", "PostgreSQL by hand, fsync", violet}, {"durable", "Once on PostgreSQL, fsync", green},
	}
	batchSeries = []series{
		{"in-turn", "In turn", grey}, {"ahead", "Ahead", blue}, {"ahead-unrecorded", "Ahead, Unrecorded 10", violet},
		{"ahead-grouped", "The same, Group 1", green}, {"ahead-grouped-one", "The same, GOMAXPROCS=1", orange},
	}
	// For targets alone.
	unevenSeries = []series{{name: "ahead-grouped-uneven"}}
	inTurnOne    = []series{{name: "in-turn-one"}}
	onceAlone    = callSeries[1:2]
)

var (
	manyCallers = 16 // with which the cost of a call is measured
	callers     = []int{1, manyCallers, 64}
	callKinds   = []work.Kind{work.First, work.Duplicate, work.Conflict}
	batches     = []int{10, 25}
	ordered     = 100 // records of a batch of a stream
	steps       = []int{1, 10, 25, 50}
)

// scenarios returns those of each round.
func (p plan) scenarios() (all []scenario) {
	add := func(by []series, calls int, c work.Case, kinds ...work.Kind) {
		calls, keys := max(int(float64(calls)*p.part), c.Callers), len(all)
		for _, c.Kind = range kinds {
			if c.Kind == work.Conflict {
				keys = len(all)
			}
			all = append(all, scenario{c, calls, by, keys})
		}
	}
	for _, latency := range p.latencies {
		for _, n := range callers {
			c := work.Case{Latency: latency, Callers: n}
			add(callSeries, callsOf(c), c, work.First, work.Duplicate)
			if latency == 0 {
				add(callSeries, callsOf(c), c, work.Conflict)
			}
		}
		n := 3
		if latency == 0 {
			n = 10
		}
		// More of the small batches: their targets are those of a function that is busy,
		// and its first batches after a pause take more CPU time.
		add(batchSeries, 3*n, work.Case{Latency: latency, Callers: 1, Size: batches[0]}, work.Queue, work.Requeue)
		add(inTurnOne, 3*n, work.Case{Latency: latency, Callers: 1, Size: batches[0]}, work.Queue, work.Requeue)
		add(unevenSeries, 3*n, work.Case{Latency: latency, Callers: 1, Size: batches[0]}, work.Queue)
		add(batchSeries, n, work.Case{Latency: latency, Callers: 1, Size: batches[1]}, work.Queue, work.Requeue)
		add(batchSeries, 1, work.Case{Latency: latency, Callers: 1, Size: ordered}, work.Stream, work.Restream)
	}
	// All stores are measured without latency and with the largest.
	for _, n := range callers[:2] {
		fast := work.Case{Callers: n}
		slow := work.Case{Callers: n, Latency: p.latencies[len(p.latencies)-1]}
		// Calls that take microseconds, so many that the waking of processors evens out.
		add(storeSeries[2:6], 20*callsOf(fast), fast, callKinds...)
		add(storeSeries[:2], callsOf(slow), slow, work.Conflict) // the rest of these two is above
		add(storeSeries[2:6], callsOf(slow), slow, callKinds...)
		add(storeSeries[6:], 5000, fast, callKinds...)
		add(durableSeries, 20*callsOf(fast), fast, work.First)
	}
	one := work.Case{Callers: 1}
	add(batchSeries, 40, work.Case{Callers: 1, Size: 1}, work.Queue, work.Requeue)
	add([]series{callSeries[1], powertools}, 5000, one, work.Cached)
	add(onceAlone, 20_000, one, work.Memory, work.Yardstick)
	for _, n := range steps {
		add(onceAlone, 4, work.Case{Callers: 1, Size: n}, work.Steps)
		add(onceAlone, 1, work.Case{Callers: 1, Size: n, Metered: true}, work.Steps)
	}
	for _, n := range p.sizes {
		add(meteredSeries, 5, work.Case{Callers: 1, Bytes: n, Metered: true}, work.First, work.Duplicate)
	}
	for _, n := range p.tableSizes {
		add(callSeries[:2], 100, work.Case{Callers: 1, Records: n}, work.First, work.Duplicate)
	}
	return all
}

// callsOf returns a number of calls that takes less than half a second.
func callsOf(c work.Case) int {
	switch {
	case c.Callers > 1:
		return 320
	case c.Latency == 0:
		return 150
	}
	return int(200 * time.Millisecond / c.Latency)
}
