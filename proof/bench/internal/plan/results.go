package plan

import (
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A Key names one series in one scenario.
type Key struct {
	Series  string
	Kind    work.Kind
	Latency time.Duration
	Callers int
	Size    int
	Records int
}

// Results are the figures of a run.
type Results struct {
	Plan   Plan
	Rounds int               // without the first, which warms up
	Labels map[string]string // of the series that were measured
	// Servers are what the servers call themselves, with their versions.
	Servers map[work.Server]string

	figures map[Key][]work.Figures // one for each round
	calls   map[Key]int
	// Capacity is what a call consumes, by kind, series and size of the result.
	Capacity map[CapacityKey]Units
}

// A Measure turns the figures of some calls into one number for each call.
type Measure func(f work.Figures, calls int) float64

// What can be said of calls. For batches, a call is a batch.
var (
	Rate     Measure = func(f work.Figures, calls int) float64 { return float64(calls) / f.Wall.Seconds() }
	WallMS   Measure = func(f work.Figures, calls int) float64 { return milliseconds(f.Wall) / float64(calls) }
	MedianMS Measure = func(f work.Figures, _ int) float64 { return milliseconds(f.Median) }
	CPUMS    Measure = func(f work.Figures, calls int) float64 { return milliseconds(f.CPU) / float64(calls) }
	Requests Measure = func(f work.Figures, calls int) float64 { return float64(f.Requests) / float64(calls) }
	Mallocs  Measure = func(f work.Figures, calls int) float64 { return float64(f.Mallocs) / float64(calls) }
	KBytes   Measure = func(f work.Figures, calls int) float64 { return float64(f.Bytes) / 1024 / float64(calls) }
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Of returns a measure of each round, or nil if the key was not measured.
func (r *Results) Of(k Key, m Measure) []float64 {
	var all []float64
	for _, f := range r.figures[k] {
		all = append(all, m(f, r.calls[k]))
	}
	return all
}

// Ratio returns, for each round, the measure of one series divided by that of
// another. The two were measured one after the other.
func (r *Results) Ratio(over, under Key, m Measure) []float64 {
	a, b := r.Of(over, m), r.Of(under, m)
	var all []float64
	for i := range min(len(a), len(b)) {
		all = append(all, a[i]/b[i])
	}
	return all
}

func (r *Results) add(k Key, calls int, f work.Figures) {
	r.figures[k] = append(r.figures[k], f)
	r.calls[k] = calls
}

// Keys returns how many rounds each key has.
func (r *Results) Keys() map[Key]int {
	n := map[Key]int{}
	for k, f := range r.figures {
		n[k] = len(f)
	}
	return n
}
