package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/plan"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

// page is Markdown that is being written.
type page struct {
	strings.Builder
	r *plan.Results
}

// Page returns the whole page. Without a cold start, it has no section of it.
func Page(r *plan.Results, m Machine, cold *ColdStart, date time.Time, took time.Duration) string {
	p := &page{r: r}
	p.intro(m, date, took)
	p.calls()
	p.stores()
	p.batches()
	p.capacity()
	p.more()
	p.coldStart(cold)
	p.targets(cold)
	return p.String()
}

// say writes paragraphs. An empty one is left out.
func (p *page) say(paragraphs ...string) {
	for _, text := range paragraphs {
		if text != "" {
			p.WriteString(text + "\n\n")
		}
	}
}

func (p *page) plot(name, alternative string) {
	p.say(fmt.Sprintf("![%s](performance/%s)", alternative, name))
}

// row writes a line of a table.
func (p *page) row(cells ...string) { p.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

// head writes the first lines of a table.
func (p *page) head(cells ...string) {
	p.row(cells...)
	p.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
}

// headOf writes the head of a table with a column for each series, and returns those
// that were measured.
func (p *page) headOf(series []string, first ...string) []string {
	found := measured(p.r, series)
	for _, s := range found {
		first = append(first, p.r.Labels[s])
	}
	p.head(first...)
	return found
}

func (p *page) intro(m Machine, date time.Time, took time.Duration) {
	p.say("# Performance",
		fmt.Sprintf("What calls, batches and duplicates take, measured on %s by `make bench`, which writes this page and its plots.", date.Format("2 January 2006")),
		fmt.Sprintf("* Machine: %s, %d cores, for the clients and the server together. Go %s.%s", m.CPU, m.Cores, m.Go, m.Warning())+"\n"+
			"* Server: "+p.r.Servers[work.DynamoDB]+", in memory. **This is not AWS**: its latency is another, and it throttles nothing. It runs the statements of a batch one after the other, and spends a third of its CPU time for them on their syntax.\n"+
			fmt.Sprintf("* One run of %d rounds in %.0f minutes. In each round, every series measures every scenario, one series after the other.\n", p.r.Rounds, took.Minutes())+
			"* A figure is the median of the rounds, with the quartiles in parentheses. Timings of another machine differ; quote ratios.\n"+
			"* A ratio is computed in each round, from figures that were measured one after the other.\n"+
			"* Each series has a process of its own, whose CPU is measured. Handlers are empty.\n"+
			"* Added latency comes from a proxy, which delays what clients send. At +0 ms there is no proxy.",
	)
	node := "Powertools is `@aws-lambda-powertools/idempotency` 2.35.0 for TypeScript on Node.js " + m.Node + ", with a hash of the payload, as Once has one."
	if m.Node == "" {
		node = "Powertools for TypeScript was not measured: Node or npm is missing, or could not install it."
	}
	p.say("*SDK by hand* is one conditional `PutItem` and one fenced `UpdateItem`, without takeover, fingerprints and stored failures. " +
		"*Group 1* and *Group 4* have [group commit](cost-and-scale.md#group-commit), with `dynamo.Options.Group` of 1 and 4. " + node)
}

func (p *page) calls() {
	p.say("## Calls")
	p.plot("throughput.svg", "First calls a second at 1, 16 and 64 callers")
	p.say("Calls a second:")
	scenarios := func(write func(first []string, k plan.Key)) {
		for _, kind := range []work.Kind{work.First, work.Duplicate, work.Conflict} {
			for _, latency := range p.r.Plan.Latencies {
				for _, n := range plan.Callers {
					if k := (plan.Key{Kind: kind, Latency: latency, Callers: n}); kind != work.Conflict || latency == 0 {
						write([]string{kinds[kind], fmt.Sprintf("+%d ms", latency.Milliseconds()), fmt.Sprint(n)}, k)
					}
				}
			}
		}
	}
	found := p.headOf(plan.CallSeries, "calls", "latency", "callers")
	scenarios(func(cells []string, k plan.Key) {
		for _, s := range found {
			k.Series = s
			cells = append(cells, spreadOf(p.r.Of(k, plan.Rate)).String())
		}
		p.row(cells...)
	})
	p.WriteString("\n")
	p.say("Calls a second, divided by those of the SDK by hand:")
	found = p.headOf(plan.CallSeries[1:], "calls", "latency", "callers")
	scenarios(func(cells []string, k plan.Key) {
		hand := k
		hand.Series = "hand"
		for _, s := range found {
			k.Series = s
			cells = append(cells, spreadOf(p.r.Ratio(k, hand, plan.Rate)).String())
		}
		p.row(cells...)
	})
	p.WriteString("\n")
	p.costs()
}

// kinds are the names of calls in tables.
var kinds = map[work.Kind]string{work.First: "first", work.Duplicate: "duplicate", work.Conflict: "conflict", work.Cached: "cached"}

// costs are what calls cost the client.
func (p *page) costs() {
	p.plot("call-cpu.svg", "Client CPU of a first call, a duplicate and a conflict")
	p.say(fmt.Sprintf("What a call costs the client, at %s and +0 ms; *cached* duplicates, which send nothing, at one caller. On a small function, CPU is what counts:", callers(manyCallers)))
	p.head("calls", "series", "client CPU, ms", "requests", "allocations", "KB allocated")
	for _, kind := range []work.Kind{work.First, work.Duplicate, work.Conflict, work.Cached} {
		for _, s := range measured(p.r, plan.CallSeries) {
			k := plan.Key{Series: s, Kind: kind, Callers: manyCallers}
			if kind == work.Cached {
				k.Callers = 1
			}
			if p.r.Of(k, plan.CPUMS) == nil {
				continue
			}
			cells := []string{kinds[kind], p.r.Labels[s]}
			for _, m := range []plan.Measure{plan.CPUMS, plan.Requests, plan.Mallocs, plan.KBytes} {
				v := spreadOf(p.r.Of(k, m))
				if v.Mid == 0 && (s == "typescript" && m(work.Figures{Mallocs: 1, Bytes: 1}, 1) > 0) {
					v = spreadOf(nil) // not counted
				}
				cells = append(cells, v.String())
			}
			p.row(cells...)
		}
	}
	p.WriteString("\n")
	p.memory()
}

// memory is the work of Once alone.
func (p *page) memory() {
	k := plan.Key{Series: "once", Kind: work.Memory, Callers: 1}
	json := k
	json.Kind = work.Yardstick
	p.say(fmt.Sprintf("With the store in memory, a duplicate takes %s times the CPU of marshalling its request and unmarshalling its result, and %s allocations.",
		spreadOf(p.r.Ratio(k, json, plan.CPUMS)), short(spreadOf(p.r.Of(k, plan.Mallocs)).Mid)))
}
