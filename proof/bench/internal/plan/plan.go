// Package plan says what is measured, and measures it in rounds.
package plan

import (
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A Scenario is what several series do, one after the other, in each round.
type Scenario struct {
	Kind    work.Kind
	Latency time.Duration // added to each round trip
	Callers int
	Calls   int // or batches
	Size    int // records of a batch, or steps of a call
	Records int // that the table has before; 0: whatever earlier scenarios have left
	Series  []string
}

// A Plan is a whole run.
type Plan struct {
	// There are at least Rounds rounds, and further ones for Time.
	Rounds    int
	Time      time.Duration
	Scenarios []Scenario
	// Results are the sizes of the results whose capacity is metered.
	Results []int
	// Latencies are injected. The first is 0.
	Latencies []time.Duration
	// TableSizes are the numbers of records that tables have.
	TableSizes []int
}

// The series of each part, by their names.
var (
	CallSeries    = []string{"hand", "once", "grouped", "grouped-4", "typescript"}
	StoreSeries   = []string{"postgres-hand", "postgres", "redis"}
	BatchSeries   = []string{"in-turn", "ahead", "ahead-unrecorded", "ahead-grouped", "ahead-grouped-one"}
	MeteredSeries = []string{"hand", "once", "read-first", "typescript"}
)

// Callers and StoreCallers are how many calls are made at a time, Batches are the sizes
// of batches, and Steps the numbers of steps of a call.
var (
	Callers      = []int{1, 16, 64}
	StoreCallers = []int{1, 16}
	Batches      = []int{10, 25}
	Steps        = []int{1, 10, 25, 50}
)

// Ordered is the size of the batches of a stream.
const Ordered = 100

// Long returns the plan of "make bench": rounds go on for a while. records is the size
// of the largest table.
func Long(while time.Duration, records int) Plan {
	p := Plan{
		Rounds: 3, Time: while,
		Latencies:  []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond},
		Results:    []int{100, 1000, 4000, 10_000, 100 << 10},
		TableSizes: tableSizes(records),
	}
	return p.with(1)
}

// Short returns the plan of a test: it has every series, in one round of few calls.
func Short() Plan {
	p := Plan{
		Rounds:    1,
		Latencies: []time.Duration{0, 2 * time.Millisecond},
		Results:   []int{100, 100 << 10}, TableSizes: tableSizes(1000),
	}
	return p.with(0.1)
}

// StoreLatencies are those that all stores are measured with: none, and the largest.
func (p Plan) StoreLatencies() []time.Duration {
	return []time.Duration{p.Latencies[0], p.Latencies[len(p.Latencies)-1]}
}

// with adds the scenarios, with a part of the usual number of calls.
func (p Plan) with(part float64) Plan {
	add := func(s Scenario, kinds ...work.Kind) {
		s.Calls = max(int(float64(s.Calls)*part), s.Callers, 1)
		for _, s.Kind = range kinds {
			p.Scenarios = append(p.Scenarios, s)
		}
	}
	for _, latency := range p.Latencies {
		for _, callers := range Callers {
			s := Scenario{Latency: latency, Callers: callers, Calls: callsOf(latency, callers), Series: CallSeries}
			add(s, work.First, work.Duplicate)
			if latency == 0 {
				add(s, work.Conflict)
			}
		}
		for _, size := range Batches {
			add(Scenario{Latency: latency, Callers: 1, Calls: batchesOf(latency, size), Size: size, Series: BatchSeries}, work.Queue, work.Requeue)
		}
		add(Scenario{Latency: latency, Callers: 1, Calls: 1, Size: Ordered, Series: BatchSeries}, work.Stream, work.Restream)
	}
	for _, callers := range StoreCallers {
		for _, latency := range p.StoreLatencies() {
			s := Scenario{Latency: latency, Callers: callers, Calls: callsOf(latency, callers), Series: StoreSeries}
			if latency == 0 {
				s.Calls *= 4 // they are faster
			} else {
				// Those without latency are above.
				add(Scenario{Latency: latency, Callers: callers, Calls: s.Calls, Series: []string{"hand", "once"}}, work.Conflict)
			}
			add(s, work.First, work.Duplicate, work.Conflict)
		}
		add(Scenario{Callers: callers, Calls: 5000, Series: []string{"memory"}}, work.First, work.Duplicate, work.Conflict)
	}
	add(Scenario{Callers: 1, Calls: 40, Size: 1, Series: BatchSeries}, work.Queue, work.Requeue)
	alone := []string{"once"}
	add(Scenario{Callers: 1, Calls: 5000, Series: []string{"once", "typescript"}}, work.Cached)
	add(Scenario{Callers: 1, Calls: 20_000, Series: alone}, work.Memory, work.Yardstick)
	for _, size := range Steps {
		add(Scenario{Callers: 1, Calls: 4, Size: size, Series: alone}, work.Steps)
	}
	for _, size := range p.TableSizes {
		add(Scenario{Callers: 1, Calls: 100, Records: size, Series: []string{"hand", "once"}}, work.First, work.Duplicate)
	}
	return p
}

// tableSizes returns 10 and its multiples up to the largest.
func tableSizes(largest int) []int {
	var sizes []int
	for n := 10; n < largest; n *= 100 {
		sizes = append(sizes, n)
	}
	return append(sizes, largest)
}

// callsOf returns a number of calls that takes less than half a second.
func callsOf(latency time.Duration, callers int) int {
	switch {
	case callers > 1:
		return 320
	case latency == 0:
		return 150
	}
	return int(200 * time.Millisecond / latency)
}

// batchesOf returns more of the small batches: their targets are those of a function
// that is busy, and its first batches after a pause take more CPU time.
func batchesOf(latency time.Duration, size int) int {
	many := 1
	if size == Batches[0] {
		many = 3
	}
	if latency == 0 {
		return 10 * many
	}
	return 3 * many
}
