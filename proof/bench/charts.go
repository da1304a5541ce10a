package main

import (
	"fmt"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A chart is a plot of grouped bars, each with its quartiles: a measure of each series in
// each group.
type chart struct {
	title   string
	by      []series
	groups  []group
	measure measure
}

type group struct {
	label string
	of    work.Case // of any series
}

// charts returns the plots of the page, by the names of their files.
func (r *results) charts() map[string]chart {
	var byCallers, kinds, batches, extremes, sizes []group
	for _, n := range callers {
		byCallers = append(byCallers, group{calling(n), work.Case{Kind: work.First, Callers: n}})
	}
	for i, name := range []string{"first call", "duplicate", "conflict"} {
		kinds = append(kinds, group{name, work.Case{Kind: callKinds[i], Callers: manyCallers}})
	}
	for _, kind := range []work.Kind{work.Queue, work.Requeue} {
		for i, latency := range r.latencies {
			g := group{word(kind) + "\n" + added(latency), work.Case{Kind: kind, Latency: latency, Callers: 1, Size: 10}}
			batches = append(batches, g)
			if i == 0 || i == len(r.latencies)-1 {
				extremes = append(extremes, g)
			}
		}
	}
	for _, n := range r.sizes {
		sizes = append(sizes, group{sized(n), work.Case{Kind: work.Duplicate, Callers: 1, Bytes: n, Metered: true}})
	}
	messageMS := func(f work.Figures) float64 { return cpuMS(f) / 10 }
	price := func(f work.Figures) float64 { return writeUnits(f) + readUnits(f)/5 }
	return map[string]chart{
		"throughput.svg": {"First calls a second", callSeries, byCallers, rate},
		"call-cpu.svg":   {"Client CPU of a call, ms", callSeries, kinds, cpuMS},
		"stores.svg":     {"Client CPU of a call on each store, µs", storeSeries, kinds, cpuMicros},
		"batch-time.svg": {"Time of a batch of 10 SQS messages, ms", batchSeries, batches, wallMS},
		"batch-cpu.svg":  {"Client CPU of a message in a batch of 10, ms", batchSeries, extremes, messageMS},
		"duplicates.svg": {"Price of a duplicate by its result's size, in write units", meteredSeries, sizes, price},
	}
}

func calling(n int) string {
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
