package report

import (
	"fmt"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/plan"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

func (p *page) batches() {
	p.say("## Batches",
		"Batches of `handlers.SQS` with `Concurrency` 1, and of records of one partition key with `handlers.Kinesis`, which run in order. "+
			"*In turn* is `Ahead: -1`: each record is claimed in its turn. *Ahead* is the default: [claims ahead](events.md#claims-ahead). "+
			"*Unrecorded 10* lets ten functions run before the first completion is recorded. Messages of one batch then share requests with *Group 1*. "+
			"*GOMAXPROCS=1* is for functions with less than one vCPU: see [small functions](cost-and-scale.md#small-functions).")
	p.plot("batch-time.svg", "Time of a batch of 10 SQS messages, new and redelivered, at 0, 2 and 10 ms")
	p.plot("batch-cpu.svg", "Client CPU of a message in a batch of 10")
	p.say("Time of a batch in ms, requests, and client CPU in ms:")
	found := p.headOf(plan.BatchSeries, "batch", "latency")
	line := func(kind work.Kind, size int, name string, latency time.Duration) {
		cells := []string{name, fmt.Sprintf("+%d ms", latency.Milliseconds())}
		for _, s := range found {
			k := plan.Key{Series: s, Kind: kind, Latency: latency, Callers: 1, Size: size}
			cells = append(cells, fmt.Sprintf("%v · %s · %s", spreadOf(p.r.Of(k, plan.WallMS)),
				short(spreadOf(p.r.Of(k, plan.Requests)).Mid), short(spreadOf(p.r.Of(k, plan.CPUMS)).Mid)))
		}
		p.row(cells...)
	}
	for _, size := range plan.Batches {
		for _, kind := range []work.Kind{work.Queue, work.Requeue} {
			for _, latency := range p.r.Plan.Latencies {
				line(kind, size, fmt.Sprintf("%d messages, %s", size, word(kind)), latency)
			}
		}
	}
	for _, kind := range []work.Kind{work.Stream, work.Restream} {
		for _, latency := range p.r.Plan.Latencies {
			line(kind, plan.Ordered, fmt.Sprintf("%d in order, %s", plan.Ordered, word(kind)), latency)
		}
	}
	p.WriteString("\n")
}

func (p *page) capacity() {
	p.say("## Capacity",
		"Write and read units of a call, as DynamoDB Local reports them. It does not report those of a failed condition, which DynamoDB bills as a write of "+
			"the item that it met: they are computed from that item. Compression is off.")
	p.plot("duplicates.svg", "Price of a duplicate by the size of its result")
	p.say("In the plot, a read unit counts as a fifth of a write unit, as it does in DynamoDB's price list on demand.")
	var heads []string
	for _, n := range p.r.Plan.Results {
		heads = append(heads, sized(n))
	}
	p.head(append([]string{"calls", "series", "requests"}, heads...)...)
	for _, kind := range []work.Kind{work.First, work.Duplicate} {
		for _, s := range measured(p.r, plan.MeteredSeries) {
			cells := []string{kinds[kind], p.r.Labels[s], ""}
			for _, n := range p.r.Plan.Results {
				u := p.r.Capacity[plan.CapacityKey{Series: s, Kind: kind, Bytes: n}]
				cells[2] = short(u.Requests)
				cells = append(cells, units(u))
			}
			p.row(cells...)
		}
	}
	p.WriteString("\n")
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

// more has the figures of Once alone.
func (p *page) more() {
	p.say("## Steps", "A call of Once with steps that return a short id, one caller, +0 ms:")
	p.head("steps", "write units", "ms", "requests", "client CPU, ms", "allocations")
	for _, n := range plan.Steps {
		k := plan.Key{Series: "once", Kind: work.Steps, Callers: 1, Size: n}
		cells := []string{fmt.Sprint(n), short(p.r.Capacity[plan.CapacityKey{Series: "once", Kind: work.Steps, Size: n}].Write)}
		for _, m := range []plan.Measure{plan.WallMS, plan.Requests, plan.CPUMS, plan.Mallocs} {
			cells = append(cells, spreadOf(p.r.Of(k, m)).String())
		}
		p.row(cells...)
	}
	p.WriteString("\n")
	p.say("## Size of the table",
		"Milliseconds of a call, one caller, +0 ms, in a table that has so many finished records before. `make bench RECORDS=1000000` fills a larger one, which takes minutes:")
	series := []string{"hand", "once"}
	p.head("records", "first, SDK by hand", "first, Once", "duplicate, SDK by hand", "duplicate, Once")
	for _, n := range p.r.Plan.TableSizes {
		cells := []string{thousands(fmt.Sprint(n))}
		for _, kind := range []work.Kind{work.First, work.Duplicate} {
			for _, s := range series {
				cells = append(cells, spreadOf(p.r.Of(plan.Key{Series: s, Kind: kind, Callers: 1, Records: n}, plan.WallMS)).String())
			}
		}
		p.row(cells...)
	}
	p.WriteString("\n")
}

// ColdStart is what protection adds to a function: bytes that are loaded,
// milliseconds of initialization before main, and bytes that constructors allocate.
type ColdStart struct{ Bare, Protected, InitMS, Allocated float64 }

func (p *page) coldStart(c *ColdStart) {
	if c == nil {
		return
	}
	const mb = 1e6
	p.say("## Cold start", fmt.Sprintf("A protected function for arm64 has %.1f MB to load, and one that makes its two writes by hand %.1f MB: %.1f MB more. "+
		"Before `main`, packages that only the protected one has take %s ms here. `dynamo.New` and `idempotent.New` allocate %.1f KB.",
		c.Protected/mb, c.Bare/mb, (c.Protected-c.Bare)/mb, short(c.InitMS), c.Allocated/1000))
}

func (p *page) targets(cold *ColdStart) {
	p.say("## Targets", fmt.Sprintf("What this project wants to hold, for an empty handler. Equal series differ by chance, so *not slower* is at least %v.", noSlower))
	p.WriteString(TargetTable(p.r, cold))
}

// TargetTable has a row for each target. The command prints it, too.
func TargetTable(r *plan.Results, cold *ColdStart) string {
	var p page
	p.head("what", "target", "measured", "met")
	for _, t := range Targets(r, cold) {
		met := "**no**"
		if t.Met() {
			met = "yes"
		}
		p.row(t.What, t.Bound(), t.Got.String(), met)
	}
	return p.String()
}
