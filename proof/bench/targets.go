package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A target is the bound of a measurement.
type target struct {
	what string
	// The measure of over is divided by that of under, if that has a series.
	over, under work.Case
	measure     measure
	bound       string // atLeast or atMost
	want        float64
	got         spread
}

const atLeast, atMost = "at least", "at most"

// noSlower is the bound of "not slower": the difference of two equal series
// reaches it by chance.
const noSlower = 0.97

// met reports whether the median is on the right side.
func (t target) met() bool {
	if t.bound == atLeast {
		return t.got.mid >= t.want
	}
	return t.got.mid <= t.want
}

// timed reports whether a slow or busy machine may miss the target: a call that comes
// late misses the request that it would share.
func (t target) timed() bool {
	counts := t.measure != nil && t.measure(work.Figures{Calls: 1, Requests: 1}) == 1
	return !counts || strings.Contains(t.over.Series, "grouped")
}

// targets returns all targets that were measured. Ratios are those of rounds: two
// figures of one round were measured one after the other. Without a cold start, the
// target of it is left out.
func (r *results) targets() (all []target) {
	for _, t := range slices.Concat(batchTargets(), callTargets(), storeTargets()) {
		got := r.of(t.over, t.measure)
		if t.under.Series != "" {
			got = r.ratio(t.over, t.under, t.measure)
		}
		if len(got) > 0 {
			t.got = spreadOf(got)
			all = append(all, t)
		}
	}
	if r.Cold != nil {
		const what = "a cold start: ms of initialization that protection adds"
		all = append(all, target{what: what, bound: atMost, want: 1, got: spreadOf([]float64{r.Cold.InitMS})})
	}
	return all
}

func batchTargets() []target {
	const slow = 10 * time.Millisecond
	const ahead, unrecorded, grouped = "ahead", "ahead with `Unrecorded: 10`", "ahead with `Group: 1`"
	const uneven, one = grouped + ", functions of 1 to 50 ms", grouped + ", GOMAXPROCS=1"
	series := map[string]string{
		ahead: "ahead", unrecorded: "ahead-unrecorded", grouped: "ahead-grouped", uneven: "ahead-grouped-uneven", one: "ahead-grouped-one",
	}
	batch := func(
		kind work.Kind, latency time.Duration, size int, what, by string, m measure, bound string, want float64,
	) target {
		c := work.Case{Series: series[by], Kind: kind, Latency: latency, Callers: 1, Size: size}
		records := fmt.Sprintf("a batch of %d", size)
		if size == 1 {
			records = "a single record"
		}
		what = fmt.Sprintf("%s, %s, %s: %s %s", records, word(kind), added(latency), what, by)
		return target{what: what, over: c, measure: m, bound: bound, want: want}
	}
	inTurn := func(t target) target {
		t.what += ", over in turn"
		t.under = t.over
		t.under.Series = "in-turn"
		if t.over.Series == series[one] {
			t.under.Series = "in-turn-one"
		}
		return t
	}
	return []target{
		inTurn(batch(work.Queue, 0, 10, "client CPU", grouped, cpuMS, atMost, .3)),
		inTurn(batch(work.Queue, slow, 10, "client CPU", grouped, cpuMS, atMost, .3)),
		inTurn(batch(work.Requeue, 0, 10, "client CPU", grouped, cpuMS, atMost, .3)),
		inTurn(batch(work.Requeue, slow, 10, "client CPU", grouped, cpuMS, atMost, .3)),
		inTurn(batch(work.Queue, 0, 10, "client CPU", one, cpuMS, atMost, .25)),
		inTurn(batch(work.Queue, slow, 10, "client CPU", one, cpuMS, atMost, .25)),
		inTurn(batch(work.Requeue, 0, 10, "client CPU", one, cpuMS, atMost, .25)),
		inTurn(batch(work.Requeue, slow, 10, "client CPU", one, cpuMS, atMost, .25)),
		inTurn(batch(work.Requeue, slow, 10, "speed", ahead, rate, atLeast, 6)),
		inTurn(batch(work.Queue, slow, 10, "speed", ahead, rate, atLeast, 1.7)),
		inTurn(batch(work.Queue, slow, 10, "speed", unrecorded, rate, atLeast, 5)),
		inTurn(batch(work.Queue, 0, 10, "speed", ahead, rate, atLeast, noSlower)),
		inTurn(batch(work.Requeue, 0, 10, "speed", ahead, rate, atLeast, noSlower)),
		inTurn(batch(work.Queue, 0, 1, "speed", ahead, rate, atLeast, noSlower)),
		inTurn(batch(work.Requeue, 0, 1, "speed", ahead, rate, atLeast, noSlower)),
		batch(work.Queue, 0, 10, "requests,", grouped, requests, atMost, 2),
		batch(work.Queue, 0, 10, "requests,", uneven, requests, atMost, 2),
		batch(work.Queue, 2*time.Millisecond, 10, "requests,", uneven, requests, atMost, 2),
		batch(work.Queue, slow, 10, "requests,", uneven, requests, atMost, 2),
		batch(work.Requeue, 0, 10, "requests,", grouped, requests, atMost, 1),
	}
}

// callTargets are those of calls in memory and on DynamoDB.
func callTargets() []target {
	const memory = "a duplicate in memory: client CPU, over that of marshalling and unmarshalling"
	const faster = "first calls, %d callers: calls a second, Group 1, over those by hand"
	grouped := func(callers int, want float64) target {
		over, under := call("grouped", work.First, callers), call("hand", work.First, callers)
		return target{fmt.Sprintf(faster, callers), over, under, rate, atLeast, want, spread{}}
	}
	clientCPU := func(kind work.Kind) target {
		what := fmt.Sprintf("a %s call on DynamoDB, 16 callers: client CPU, over that by hand", kind)
		return target{what, call("once", kind, manyCallers), call("hand", kind, manyCallers), cpuMS, atMost, 1.05, spread{}}
	}
	slow := func(series string) work.Case {
		return work.Case{Series: series, Kind: work.First, Latency: 10 * time.Millisecond, Callers: manyCallers}
	}
	return []target{
		{memory, inMemory, yardstick, cpuMS, atMost, 2.5, spread{}},
		clientCPU(work.First), clientCPU(work.Duplicate),
		{"first calls, 16 callers, +10 ms: calls a second, Group 1, over those without", slow("grouped"), slow("once"), rate, atLeast, noSlower, spread{}},
		grouped(16, 1.25),
		grouped(64, 1.4),
		sent("first calls, 64 callers: requests a call, Group 1", call("grouped", work.First, 64), .3),
	}
}

// storeTargets are those of PostgreSQL and Redis.
func storeTargets() []target {
	postgres := func(what, series string, callers int, m measure, bound string, want float64) target {
		what = fmt.Sprintf("first calls on PostgreSQL%s, over those by hand", fmt.Sprintf(what, callers))
		return target{what, call(series, work.First, callers), call(series+"-hand", work.First, callers), m, bound, want, spread{}}
	}
	onRedis := func(callers int) target {
		over, under := call("redis", work.First, callers), call("redis-hand", work.First, callers)
		const what = "first calls on Redis, %s: calls a second, over those by hand"
		return target{fmt.Sprintf(what, calling(callers)), over, under, rate, atLeast, .7, spread{}}
	}
	script := func(callers int) target {
		what := fmt.Sprintf("first calls on Redis, %s: µs of the server for a script", calling(callers))
		return target{what: what, over: call("redis", work.First, callers), measure: scriptTime, bound: atMost, want: 20}
	}
	return []target{
		postgres(", %d caller: calls a second", "postgres", 1, rate, atLeast, .8),
		postgres(", %d callers: calls a second", "postgres", manyCallers, rate, atLeast, .8),
		postgres(" with fsync, %d caller: calls a second", "durable", 1, rate, atLeast, .9),
		postgres(" with fsync, %d callers: calls a second", "durable", manyCallers, rate, atLeast, .85),
		postgres(", %d callers: client CPU", "postgres", manyCallers, cpuMS, atMost, 2),
		sent("a first call on PostgreSQL: round trips", call("postgres", work.First, manyCallers), 2),
		sent("a duplicate on PostgreSQL: round trips", call("postgres", work.Duplicate, manyCallers), 1),
		sent("a first call on Redis: round trips", call("redis", work.First, manyCallers), 2),
		sent("a duplicate on Redis: round trips", call("redis", work.Duplicate, manyCallers), 1),
		onRedis(1),
		onRedis(manyCallers),
		script(1),
		script(manyCallers),
	}
}

func call(series string, kind work.Kind, callers int) work.Case {
	return work.Case{Series: series, Kind: kind, Callers: callers}
}

func sent(what string, over work.Case, want float64) target {
	return target{what: what, over: over, measure: requests, bound: atMost, want: want}
}

// Targets returns the table of targets. The command prints it as well.
func (r *results) Targets() table {
	t := table{{"what", "target", "measured", "met"}}
	for _, one := range r.targets() {
		met := "**no**"
		if one.met() {
			met = "yes"
		}
		t = append(t, []string{one.what, one.bound + " " + short(one.want), one.got.String(), met})
	}
	return t
}

// word is the page's word for batches of a kind.
func word(k work.Kind) string {
	if k == work.Requeue || k == work.Restream {
		return "redelivered"
	}
	return "new"
}
