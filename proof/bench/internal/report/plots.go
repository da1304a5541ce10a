package report

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/plan"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

// Plots are the charts of the page, by the names of their files.
var Plots = map[string]func(*plan.Results) bars{
	"throughput.svg": throughput, "call-cpu.svg": callCPU, "stores.svg": storeCPU,
	"batch-time.svg": batchTime, "batch-cpu.svg": batchCPU, "duplicates.svg": duplicates,
}

// colors are those of series in all plots. They can be told apart on a light and on
// a dark background.
var colors = map[string]string{
	"hand": grey, "once": blue, "grouped": green, "grouped-4": violet, "read-first": violet, "typescript": orange,
	"postgres-hand": violet, "postgres": green, "redis": orange, "memory": pink,
	"in-turn": grey, "ahead": blue, "ahead-unrecorded": violet, "ahead-grouped": green, "ahead-grouped-one": orange,
}

const (
	grey   = "#8b949e"
	blue   = "#3b82f6"
	green  = "#2ea043"
	violet = "#a371f7"
	pink   = "#db61a2"
	orange = "#e86a17"
)

// WritePlots draws the plots into a folder.
func WritePlots(dir string, r *plan.Results) error {
	errs := []error{os.MkdirAll(dir, 0o755)}
	for name, chart := range Plots {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte(chart(r).svg()), 0o644))
	}
	return errors.Join(errs...)
}

// chart makes a bar of each measured series in each group.
func chart(r *plan.Results, title string, series []string, groups []string, value func(series string, group int) Spread) bars {
	b := bars{title: title, groups: groups}
	for _, s := range measured(r, series) {
		one := bar{label: r.Labels[s], color: colors[s]}
		for g := range groups {
			one.values = append(one.values, value(s, g))
		}
		b.series = append(b.series, one)
	}
	return b
}

// measured returns those series for which there was a worker.
func measured(r *plan.Results, series []string) (found []string) {
	for _, s := range series {
		if r.Labels[s] != "" {
			found = append(found, s)
		}
	}
	return found
}

func throughput(r *plan.Results) bars {
	var groups []string
	for _, n := range plan.Callers {
		groups = append(groups, callers(n))
	}
	return chart(r, "First calls a second", plan.CallSeries, groups, func(series string, g int) Spread {
		return spreadOf(r.Of(plan.Key{Series: series, Kind: work.First, Callers: plan.Callers[g]}, plan.Rate))
	})
}

// manyCallers is how many callers the cost of a call is measured with.
const manyCallers = 16

func callCPU(r *plan.Results) bars {
	return cpuOfCalls(r, "Client CPU of a call, ms", plan.CallSeries, plan.CPUMS)
}

func storeCPU(r *plan.Results) bars {
	return cpuOfCalls(byStore(r), "Client CPU of a call on each store, µs", storeSeries, cpuMicros)
}

func cpuOfCalls(r *plan.Results, title string, series []string, m plan.Measure) bars {
	return chart(r, title, series, []string{"first call", "duplicate", "conflict"}, func(series string, g int) Spread {
		return spreadOf(r.Of(plan.Key{Series: series, Kind: callKinds[g], Callers: manyCallers}, m))
	})
}

// storeSeries are the series that are compared side by side.
var storeSeries = slices.Concat([]string{"hand", "once"}, plan.StoreSeries, []string{"memory"})

// cpuMicros is plan.CPUMS in microseconds: calls in memory take a few.
func cpuMicros(f work.Figures, calls int) float64 { return 1000 * plan.CPUMS(f, calls) }

// byStore returns the results with labels that name the store of each series.
func byStore(r *plan.Results) *plan.Results {
	named := *r
	named.Labels = maps.Clone(r.Labels)
	named.Labels["hand"], named.Labels["once"] = "DynamoDB by hand", "Once on DynamoDB"
	return &named
}

// batchGroups returns the groups of a chart of batches: each kind, with each latency.
func batchGroups(latencies []time.Duration) (groups []string, keys []plan.Key) {
	for _, kind := range []work.Kind{work.Queue, work.Requeue} {
		for _, latency := range latencies {
			groups = append(groups, word(kind)+"\n"+added(latency))
			keys = append(keys, plan.Key{Kind: kind, Latency: latency, Callers: 1, Size: 10})
		}
	}
	return groups, keys
}

func batchTime(r *plan.Results) bars {
	groups, keys := batchGroups(r.Plan.Latencies)
	return chart(r, "Time of a batch of 10 SQS messages, ms", plan.BatchSeries, groups, func(series string, g int) Spread {
		keys[g].Series = series
		return spreadOf(r.Of(keys[g], plan.WallMS))
	})
}

func batchCPU(r *plan.Results) bars {
	latencies := r.Plan.Latencies
	groups, keys := batchGroups([]time.Duration{latencies[0], latencies[len(latencies)-1]})
	return chart(r, "Client CPU of a message in a batch of 10, ms", plan.BatchSeries, groups, func(series string, g int) Spread {
		keys[g].Series = series
		var each []float64
		for _, batch := range r.Of(keys[g], plan.CPUMS) {
			each = append(each, batch/float64(keys[g].Size))
		}
		return spreadOf(each)
	})
}

// duplicates compares the price of replays. A read unit counts as a fifth of a
// write unit.
func duplicates(r *plan.Results) bars {
	var groups []string
	for _, n := range r.Plan.Results {
		groups = append(groups, sized(n))
	}
	return chart(r, "Price of a duplicate by its result's size, in write units", plan.MeteredSeries, groups, func(series string, g int) Spread {
		u, ok := r.Capacity[plan.CapacityKey{Series: series, Kind: work.Duplicate, Bytes: r.Plan.Results[g]}]
		if !ok {
			return spreadOf(nil)
		}
		return spreadOf([]float64{u.Write + u.Read/5})
	})
}

func callers(n int) string {
	if n == 1 {
		return "1 caller"
	}
	return fmt.Sprintf("%d callers", n)
}

func sized(n int) string {
	if n%1024 == 0 {
		return fmt.Sprintf("%d KB", n/1024)
	}
	return thousands(fmt.Sprint(n)) + " bytes"
}
