package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// results are the figures of a run.
type results struct {
	plan
	versions
	Node    string     // its version, or "": without
	Rounds  int        // without the first, which warms up
	Cold    *coldStart // nil: the page has no section of it
	figures map[work.Case][]work.Figures
}

// A measure is a number for each call. For batches, a call is a batch.
type measure func(f work.Figures) float64

var (
	rate       measure = func(f work.Figures) float64 { return float64(f.Calls) / f.Wall.Seconds() }
	wallMS     measure = func(f work.Figures) float64 { return 1000 * f.Wall.Seconds() / float64(f.Calls) }
	medianMS   measure = func(f work.Figures) float64 { return 1000 * f.Median.Seconds() }
	cpuMS      measure = func(f work.Figures) float64 { return 1000 * f.CPU.Seconds() / float64(f.Calls) }
	cpuMicros  measure = func(f work.Figures) float64 { return 1000 * cpuMS(f) }
	requests   measure = func(f work.Figures) float64 { return float64(f.Requests) / float64(f.Calls) }
	mallocs    measure = func(f work.Figures) float64 { return counted(f.Mallocs) / float64(f.Calls) }
	kilobytes  measure = func(f work.Figures) float64 { return counted(f.Bytes) / 1024 / float64(f.Calls) }
	scriptTime measure = func(f work.Figures) float64 { return float64(f.ScriptTime.Microseconds()) / float64(f.Scripts) }
	writeUnits measure = func(f work.Figures) float64 { return f.WriteUnits / float64(f.Calls) }
	readUnits  measure = func(f work.Figures) float64 { return f.ReadUnits / float64(f.Calls) }
)

// counted returns NaN for the allocations in TypeScript, which are not counted.
func counted(n uint64) float64 {
	if n == 0 {
		return math.NaN()
	}
	return float64(n)
}

// of returns a measure of each round, or nil if there is none.
func (r *results) of(c work.Case, m measure) (all []float64) {
	for _, f := range r.figures[c] {
		all = append(all, m(f))
	}
	return all
}

// ratio returns, for each round, the measure of one case divided by that of a second
// one. The two were measured one after the other.
func (r *results) ratio(over, under work.Case, m measure) (all []float64) {
	a, b := r.of(over, m), r.of(under, m)
	for i := range min(len(a), len(b)) {
		all = append(all, a[i]/b[i])
	}
	return all
}

func (r *results) spread(c work.Case, m measure) spread { return spreadOf(r.of(c, m)) }

// measured returns those series for which there was a worker.
func (r *results) measured(all []series) []series {
	return slices.DeleteFunc(slices.Clone(all), func(s series) bool { return work.All[s.name].Node && r.Node == "" })
}

// A spread is a median between its quartiles.
type spread struct{ low, mid, high float64 }

// spreadOf returns NaN of no values.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		values = []float64{math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		i, part := math.Modf(q * float64(len(sorted)-1))
		low, high := sorted[int(i)], sorted[min(int(i)+1, len(sorted)-1)]
		return low + part*(high-low)
	}
	return spread{at(.25), at(.5), at(.75)}
}

// measured reports whether there is anything to say.
func (s spread) measured() bool { return !math.IsNaN(s.mid) }

// String is the median, and the quartiles if they differ from it.
func (s spread) String() string {
	low, mid, high := short(s.low), short(s.mid), short(s.high)
	switch {
	case !s.measured():
		return "–"
	case low == high:
		return mid
	}
	return fmt.Sprintf("%s (%s–%s)", mid, low, high)
}

// short is a number with three digits, or more before the point.
func short(x float64) string { return rounded(x, 3) }

func rounded(x float64, significant int) string {
	digits := significant - 1 - int(math.Floor(math.Log10(math.Abs(x))))
	if x == 0 || digits <= 0 {
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	}
	text := strconv.FormatFloat(x, 'f', min(digits, 4), 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
