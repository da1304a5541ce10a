package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/plan"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

// table is a table of Markdown.
type table struct {
	strings.Builder
	series []string // that have a column each, after the others
}

func newTable(heads ...string) *table {
	t := &table{}
	t.row(heads...)
	t.WriteString(strings.Repeat("|---", len(heads)) + "|\n")
	return t
}

// seriesTable begins a table with a column for each of the series that was measured.
func seriesTable(r *plan.Results, series []string, heads ...string) *table {
	series = measured(r, series)
	for _, s := range series {
		heads = append(heads, r.Labels[s])
	}
	t := newTable(heads...)
	t.series = series
	return t
}

func (t *table) row(cells ...string) { t.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

// rowOf writes the cells, and then one for each series.
func (t *table) rowOf(k plan.Key, cell func(plan.Key) string, cells ...string) {
	for _, k.Series = range t.series {
		cells = append(cells, cell(k))
	}
	t.row(cells...)
}

// callKinds are the kinds of calls that all series make.
var callKinds = []work.Kind{work.First, work.Duplicate, work.Conflict}

// calls returns a table of calls by their latencies and callers, except those that skip
// reports.
func calls(r *plan.Results, series []string, latencies []time.Duration, callers []int, skip func(plan.Key) bool, cell func(plan.Key) string) string {
	t := seriesTable(r, series, "calls", "latency", "callers")
	for _, kind := range callKinds {
		for _, latency := range latencies {
			for _, n := range callers {
				if k := (plan.Key{Kind: kind, Latency: latency, Callers: n}); !skip(k) {
					t.rowOf(k, cell, string(kind), added(latency), fmt.Sprint(n))
				}
			}
		}
	}
	return t.String()
}

func added(latency time.Duration) string { return fmt.Sprintf("+%d ms", latency.Milliseconds()) }

func isDelayedConflict(k plan.Key) bool { return k.Kind == work.Conflict && k.Latency > 0 }

// Rates returns the table of calls a second.
func (p *page) Rates() string {
	return calls(p.Results, plan.CallSeries, p.Plan.Latencies, plan.Callers, isDelayedConflict, func(k plan.Key) string {
		return spreadOf(p.Of(k, plan.Rate)).String()
	})
}

// Ratios returns the table of rates over those of the SDK by hand.
func (p *page) Ratios() string {
	return calls(p.Results, plan.CallSeries[1:], p.Plan.Latencies, plan.Callers, isDelayedConflict, func(k plan.Key) string {
		hand := k
		hand.Series = "hand"
		return spreadOf(p.Ratio(k, hand, plan.Rate)).String()
	})
}

// Costs returns the table of what calls cost the client.
func (p *page) Costs() string {
	t := newTable("calls", "series", "client CPU, ms", "requests", "allocations", "KB allocated")
	for _, kind := range append(slices.Clone(callKinds), work.Cached) {
		for _, s := range measured(p.Results, plan.CallSeries) {
			k := plan.Key{Series: s, Kind: kind, Callers: manyCallers}
			if kind == work.Cached {
				k.Callers = 1
			}
			if p.Of(k, plan.CPUMS) == nil {
				continue
			}
			cells := []string{string(kind), p.Labels[s], p.spread(k, plan.CPUMS), p.spread(k, plan.Requests), "–", "–"}
			if s != "typescript" { // which counts no allocations
				cells[4], cells[5] = p.spread(k, plan.Mallocs), p.spread(k, plan.KBytes)
			}
			t.row(cells...)
		}
	}
	return t.String()
}

func (p *page) spread(k plan.Key, m plan.Measure) string { return spreadOf(p.Of(k, m)).String() }

// StoreSpeeds returns the table of rates and times on each store.
func (p *page) StoreSpeeds() string {
	all := func(plan.Key) bool { return false }
	return calls(byStore(p.Results), storeSeries, p.Plan.StoreLatencies(), plan.StoreCallers, all, func(k plan.Key) string {
		rate := spreadOf(p.Of(k, plan.Rate))
		if !rate.measured() { // in memory there is no latency
			return rate.String()
		}
		return fmt.Sprintf("%v · %s", rate, mid(p.Of(k, plan.MedianMS)))
	})
}

// StoreCosts returns the table of what calls cost the client on each store.
func (p *page) StoreCosts() string {
	r := byStore(p.Results)
	t := newTable("series", "first", "duplicate", "conflict")
	for _, s := range measured(r, storeSeries) {
		cells := []string{r.Labels[s]}
		for _, kind := range callKinds {
			k := plan.Key{Series: s, Kind: kind, Callers: manyCallers}
			cells = append(cells, p.cost(k, cpuMicros, plan.Requests, plan.Mallocs))
		}
		t.row(cells...)
	}
	return t.String()
}

// cost returns the first measure with its quartiles, and the others without.
func (p *page) cost(k plan.Key, first plan.Measure, others ...plan.Measure) string {
	text := p.spread(k, first)
	for _, m := range others {
		text += " · " + mid(p.Of(k, m))
	}
	return text
}

// Batches returns the table of batches.
func (p *page) Batches() string {
	t := seriesTable(p.Results, plan.BatchSeries, "batch", "latency")
	rows := func(kind work.Kind, size int, name string) {
		for _, latency := range p.Plan.Latencies {
			k := plan.Key{Kind: kind, Latency: latency, Callers: 1, Size: size}
			cell := func(k plan.Key) string { return p.cost(k, plan.WallMS, plan.Requests, plan.CPUMS) }
			t.rowOf(k, cell, fmt.Sprintf("%d %s, %s", size, name, word(kind)), added(latency))
		}
	}
	for _, size := range plan.Batches {
		rows(work.Queue, size, "messages")
		rows(work.Requeue, size, "messages")
	}
	rows(work.Stream, plan.Ordered, "in order")
	rows(work.Restream, plan.Ordered, "in order")
	return t.String()
}

// Capacities returns the table of the units that calls consume.
func (p *page) Capacities() string {
	heads := []string{"calls", "series", "requests"}
	for _, n := range p.Plan.Results {
		heads = append(heads, sized(n))
	}
	t := newTable(heads...)
	for _, kind := range []work.Kind{work.First, work.Duplicate} {
		for _, s := range measured(p.Results, plan.MeteredSeries) {
			cells := []string{string(kind), p.Labels[s], ""}
			for _, n := range p.Plan.Results {
				u := p.Capacity[plan.CapacityKey{Series: s, Kind: kind, Bytes: n}]
				cells[2] = short(u.Requests)
				cells = append(cells, units(u))
			}
			t.row(cells...)
		}
	}
	return t.String()
}

func units(u plan.Units) string {
	switch {
	case u.Read == 0:
		return short(u.Write) + " write"
	case u.Write == 0:
		return short(u.Read) + " read"
	}
	return short(u.Write) + " write, " + short(u.Read) + " read"
}

// Steps returns the table of calls with steps.
func (p *page) Steps() string {
	t := newTable("steps", "write units", "ms", "requests", "client CPU, ms", "allocations")
	for _, n := range plan.Steps {
		k := plan.Key{Series: "once", Kind: work.Steps, Callers: 1, Size: n}
		t.row(fmt.Sprint(n), short(p.Capacity[plan.CapacityKey{Series: "once", Kind: work.Steps, Size: n}].Write),
			p.spread(k, plan.WallMS), p.spread(k, plan.Requests), p.spread(k, plan.CPUMS), p.spread(k, plan.Mallocs))
	}
	return t.String()
}

// TableSizes returns the table of times in tables with many records.
func (p *page) TableSizes() string {
	t := newTable("records", "first, SDK by hand", "first, Once", "duplicate, SDK by hand", "duplicate, Once")
	for _, n := range p.Plan.TableSizes {
		cells := []string{thousands(fmt.Sprint(n))}
		for _, kind := range []work.Kind{work.First, work.Duplicate} {
			for _, s := range []string{"hand", "once"} {
				cells = append(cells, p.spread(plan.Key{Series: s, Kind: kind, Callers: 1, Records: n}, plan.WallMS))
			}
		}
		t.row(cells...)
	}
	return t.String()
}

// TargetTable returns a table with a row for each target. The command prints it as well.
func TargetTable(r *plan.Results, cold *ColdStart) string {
	t := newTable("what", "target", "measured", "met")
	for _, target := range Targets(r, cold) {
		met := "**no**"
		if target.Met() {
			met = "yes"
		}
		t.row(target.What, target.Bound(), target.Got.String(), met)
	}
	return t.String()
}
