package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lambda-once/once/proof/bench/internal/plan"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

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

func (p *page) stores() {
	r := byStore(p.r)
	p.say("## Stores side by side",
		fmt.Sprintf("The same calls on %s, %s and %s, all on this machine, and in memory. **Nothing waits for a disk**: PostgreSQL runs with `fsync=off`, and the others keep nothing. "+
			"Compare round trips, and what calls cost the client. How fast the servers are says little about those in production.", r.Servers[work.DynamoDB], r.Servers[work.PostgreSQL], r.Servers[work.Redis]),
		"*PostgreSQL by hand* is `INSERT … ON CONFLICT DO NOTHING` and a fenced `UPDATE`, without takeover, fingerprints and stored failures. Its duplicates need a `SELECT` more. "+
			"Connections are open, and statements prepared. Once on Redis [may lose a claim at a failover](redis.md).")
	p.plot("stores.svg", "Client CPU of a first call, a duplicate and a conflict on each store")
	p.say("Calls a second, and the median time of a call in ms:")
	series := measured(r, storeSeries)
	heads := []string{"calls", "latency", "callers"}
	for _, s := range series {
		heads = append(heads, r.Labels[s])
	}
	p.head(heads...)
	for _, kind := range callKinds {
		for _, latency := range r.Plan.StoreLatencies() {
			for _, n := range plan.StoreCallers {
				cells := []string{kinds[kind], fmt.Sprintf("+%d ms", latency.Milliseconds()), fmt.Sprint(n)}
				for _, s := range series {
					cells = append(cells, speed(r, plan.Key{Series: s, Kind: kind, Latency: latency, Callers: n}))
				}
				p.row(cells...)
			}
		}
	}
	p.WriteString("\n")
	p.say(fmt.Sprintf("What a call costs the client, at %s and +0 ms: CPU in µs, round trips, and allocations:", callers(manyCallers)))
	p.head("series", "first", "duplicate", "conflict")
	for _, s := range series {
		cells := []string{r.Labels[s]}
		for _, kind := range callKinds {
			k := plan.Key{Series: s, Kind: kind, Callers: manyCallers}
			cells = append(cells, fmt.Sprintf("%v · %s · %s", spreadOf(r.Of(k, cpuMicros)), short(spreadOf(r.Of(k, plan.Requests)).Mid), short(spreadOf(r.Of(k, plan.Mallocs)).Mid)))
		}
		p.row(cells...)
	}
	p.WriteString("\n")
}

// speed returns a dash for what was not measured: in memory there is no latency.
func speed(r *plan.Results, k plan.Key) string {
	rate := spreadOf(r.Of(k, plan.Rate))
	if !rate.measured() {
		return "–"
	}
	return fmt.Sprintf("%v · %s", rate, short(spreadOf(r.Of(k, plan.MedianMS)).Mid))
}
