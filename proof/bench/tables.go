package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A table has its heads in the first row.
type table [][]string

// String returns the table as Markdown.
func (t table) String() string {
	var b strings.Builder
	for i, row := range t {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}

// A cell is the text of a table for a case.
type cell func(work.Case) string

// cell shows the first measure with its quartiles, and the others without.
func (r *results) cell(first measure, others ...measure) cell {
	return func(c work.Case) string {
		s := r.spread(c, first)
		text := s.String()
		for _, m := range others {
			if s.measured() {
				text += " · " + short(r.spread(c, m).mid)
			}
		}
		return text
	}
}

// head begins a table with a column for each of the series that was measured.
func (r *results) head(all []series, heads ...string) table {
	for _, s := range r.measured(all) {
		heads = append(heads, s.label)
	}
	return table{heads}
}

// row returns the cells, and then one for each series.
func (r *results) row(all []series, c work.Case, cell cell, cells ...string) []string {
	for _, s := range r.measured(all) {
		c.Series = s.name
		cells = append(cells, cell(c))
	}
	return cells
}

// calls returns a table of calls by their latencies and callers, as far as one of the
// series was measured with them.
func (r *results) calls(all []series, measured string, cell cell) table {
	t := r.head(all, "calls", "latency", "callers")
	for _, kind := range callKinds {
		for _, latency := range r.latencies {
			for _, n := range callers {
				c := work.Case{Series: measured, Kind: kind, Latency: latency, Callers: n}
				if r.figures[c] != nil {
					t = append(t, r.row(all, c, cell, string(kind), added(latency), fmt.Sprint(n)))
				}
			}
		}
	}
	return t
}

func added(latency time.Duration) string { return fmt.Sprintf("+%d ms", latency.Milliseconds()) }

// Ratios returns the table of rates over those of the SDK by hand in the same language.
func (r *results) Ratios() table {
	return r.calls(append(slices.Clone(callSeries[1:4]), powertools), "grouped", func(c work.Case) string {
		hand := c
		hand.Series = "hand"
		if work.All[c.Series].Node {
			hand.Series = "typescript"
		}
		return spreadOf(r.ratio(c, hand, rate)).String()
	})
}

// Counts returns the table of the calls, or batches, that a figure has in a round.
func (r *results) Counts() table {
	t := table{{"a figure of"}}
	for _, latency := range r.latencies {
		t[0] = append(t[0], added(latency))
	}
	rows := map[string][]string{}
	for _, s := range r.scenarios() {
		name := s.counted()
		if rows[name] == nil {
			rows[name] = append([]string{name}, slices.Repeat([]string{"–"}, len(r.latencies))...)
			t = append(t, rows[name])
		}
		rows[name][1+slices.Index(r.latencies, s.Latency)] = thousands(fmt.Sprint(s.calls))
	}
	return t
}

func (r *results) Costs() table {
	t := table{{"calls", "series", "client CPU, ms", "requests", "allocations", "KB allocated"}}
	for _, kind := range append(slices.Clone(callKinds), work.Cached) {
		for _, s := range r.measured(callSeries) {
			c := work.Case{Series: s.name, Kind: kind, Callers: manyCallers}
			if kind == work.Cached {
				c.Callers = 1
			}
			if r.figures[c] != nil {
				t = append(t, r.measures(c, []measure{cpuMS, requests, mallocs, kilobytes}, string(kind), s.label))
			}
		}
	}
	return t
}

// measures returns the cells, and then one for each measure.
func (r *results) measures(c work.Case, all []measure, cells ...string) []string {
	for _, m := range all {
		cells = append(cells, r.spread(c, m).String())
	}
	return cells
}

func (r *results) StoreSpeeds() table {
	return r.calls(storeSeries, "postgres", r.cell(rate, medianMS))
}

func (r *results) StoreCosts() table {
	t := table{{"series", "first", "duplicate", "conflict"}}
	for _, s := range storeSeries {
		cells := []string{s.label}
		for _, kind := range callKinds {
			c := work.Case{Series: s.name, Kind: kind, Callers: manyCallers}
			cells = append(cells, r.cell(cpuMicros, requests, mallocs)(c))
		}
		t = append(t, cells)
	}
	return t
}

func (r *results) Batches() table {
	t := r.head(batchSeries, "batch", "latency")
	rows := func(size int, name string, kinds ...work.Kind) {
		for _, kind := range kinds {
			for _, latency := range r.latencies {
				c := work.Case{Kind: kind, Latency: latency, Callers: 1, Size: size}
				what := fmt.Sprintf("%d %s, %s", size, name, word(kind))
				t = append(t, r.row(batchSeries, c, r.cell(wallMS, requests, cpuMS), what, added(latency)))
			}
		}
	}
	for _, size := range batches {
		rows(size, "messages", work.Queue, work.Requeue)
	}
	rows(ordered, "in order", work.Stream, work.Restream)
	return t
}

func (r *results) Capacities() table {
	t := table{{"calls", "series", "requests"}}
	for _, n := range r.sizes {
		t[0] = append(t[0], sized(n))
	}
	for _, kind := range []work.Kind{work.First, work.Duplicate} {
		for _, s := range r.measured(meteredSeries) {
			cells := []string{string(kind), s.label, ""}
			for _, n := range r.sizes {
				c := work.Case{Series: s.name, Kind: kind, Callers: 1, Bytes: n, Metered: true}
				cells[2] = r.spread(c, requests).String()
				cells = append(cells, r.units(c))
			}
			t = append(t, cells)
		}
	}
	return t
}

func (r *results) units(c work.Case) string {
	write, read := r.spread(c, writeUnits), r.spread(c, readUnits)
	switch {
	case read.mid == 0:
		return write.String() + " write"
	case write.mid == 0:
		return read.String() + " read"
	}
	return write.String() + " write, " + read.String() + " read"
}

func (r *results) Steps() table {
	t := table{{"steps", "write units", "ms", "requests", "client CPU, ms", "allocations"}}
	for _, n := range steps {
		c := work.Case{Series: "once", Kind: work.Steps, Callers: 1, Size: n}
		metered := work.Case{Series: "once", Kind: work.Steps, Callers: 1, Size: n, Metered: true}
		cells := []string{fmt.Sprint(n), r.spread(metered, writeUnits).String()}
		t = append(t, r.measures(c, []measure{wallMS, requests, cpuMS, mallocs}, cells...))
	}
	return t
}

func (r *results) TableSizes() table {
	t := table{{"records", "first, SDK by hand", "first, Once", "duplicate, SDK by hand", "duplicate, Once"}}
	for _, n := range r.tableSizes {
		cells := []string{thousands(fmt.Sprint(n))}
		for _, kind := range []work.Kind{work.First, work.Duplicate} {
			cells = r.row(callSeries[:2], work.Case{Kind: kind, Callers: 1, Records: n}, r.cell(wallMS), cells...)
		}
		t = append(t, cells)
	}
	return t
}
