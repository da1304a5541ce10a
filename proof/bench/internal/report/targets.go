package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/plan"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A Target is what a measurement must be.
type Target struct {
	What string
	// Timed reports that a slow or busy machine may miss it.
	Timed bool
	// At least or at most Want.
	Least bool
	Want  float64
	Got   Spread
}

// Met reports whether the median is on the right side.
func (t Target) Met() bool {
	if t.Least {
		return t.Got.Mid >= t.Want
	}
	return t.Got.Mid <= t.Want
}

// Bound says what the target is.
func (t Target) Bound() string {
	if t.Least {
		return "at least " + short(t.Want)
	}
	return "at most " + short(t.Want)
}

// noSlower is what "not slower" means: the difference of two equal series
// reaches it by chance.
const noSlower = 0.97

// slow is the latency of most targets.
const slow = 10 * time.Millisecond

// A check is a target before it is measured. The measure of over is divided by that
// of under, if there is one.
type check struct {
	what        string
	over, under plan.Key
	measure     plan.Measure
	least       bool
	want        float64
}

// timed reports whether a busy machine changes the measure: a call that comes late
// misses the request that it would share.
func (c check) timed() bool {
	return c.measure(work.Figures{Requests: 1}, 1) != 1 || strings.Contains(c.over.Series, "grouped")
}

// Targets returns all targets that were measured. Ratios are those of rounds: two
// figures of one round were measured one after the other. Without a cold start, the
// target of it is left out.
func Targets(r *plan.Results, cold *ColdStart) (all []Target) {
	for _, c := range slices.Concat(batchChecks(), callChecks(), storeChecks()) {
		t := Target{What: c.what, Timed: c.timed(), Least: c.least, Want: c.want}
		got := r.Of(c.over, c.measure)
		if c.under.Series != "" {
			got = r.Ratio(c.over, c.under, c.measure)
		}
		if len(got) > 0 {
			t.Got = spreadOf(got)
			all = append(all, t)
		}
	}
	if cold != nil {
		all = append(all, Target{What: "a cold start: ms of initialization that protection adds", Timed: true, Want: 1, Got: spreadOf([]float64{cold.InitMS})})
	}
	return all
}

func batchChecks() (all []check) {
	batch := func(series string, kind work.Kind, latency time.Duration, size int) plan.Key {
		return plan.Key{Series: series, Kind: kind, Latency: latency, Callers: 1, Size: size}
	}
	what := func(k plan.Key, text string) string {
		return fmt.Sprintf("%s, %s, +%d ms: %s", records(k.Size), word(k.Kind), k.Latency.Milliseconds(), text)
	}
	// faster compares times: a series takes a part of the time of today's.
	faster := func(series string, kind work.Kind, latency time.Duration, size int, want float64) {
		over := batch("in-turn", kind, latency, size)
		all = append(all, check{what(over, "speed "+names[series]+", over that in turn"), over, batch(series, kind, latency, size), plan.WallMS, true, want})
	}
	for _, kind := range []work.Kind{work.Queue, work.Requeue} {
		for _, latency := range []time.Duration{0, slow} {
			over := batch("ahead-grouped", kind, latency, 10)
			all = append(all, check{what(over, "client CPU ahead with `Unrecorded: 10` and `Group: 1`, over that in turn"), over, batch("in-turn", kind, latency, 10), plan.CPUMS, false, .25})
		}
	}
	faster("ahead", work.Requeue, slow, 10, 6)
	faster("ahead", work.Queue, slow, 10, 1.7)
	faster("ahead-unrecorded", work.Queue, slow, 10, 5)
	for _, size := range []int{10, 1} {
		for _, kind := range []work.Kind{work.Queue, work.Requeue} {
			faster("ahead", kind, 0, size, noSlower)
		}
	}
	for i, kind := range []work.Kind{work.Queue, work.Requeue} {
		k := batch("ahead-grouped", kind, 0, 10)
		all = append(all, check{what: what(k, "requests, ahead with `Unrecorded: 10` and `Group: 1`"), over: k, measure: plan.Requests, want: float64(3 - i)})
	}
	return all
}

func callChecks() (all []check) {
	duplicate := plan.Key{Series: "once", Kind: work.Memory, Callers: 1}
	yardstick := duplicate
	yardstick.Kind = work.Yardstick
	all = append(all, check{"a duplicate in memory: client CPU, over that of marshalling and unmarshalling", duplicate, yardstick, plan.CPUMS, false, 2.5})
	for i, callers := range []int{16, 64} {
		grouped, hand := plan.Key{Series: "grouped", Kind: work.First, Callers: callers}, plan.Key{Series: "hand", Kind: work.First, Callers: callers}
		what := fmt.Sprintf("first calls, %d callers: ", callers)
		all = append(all, check{what + "calls a second, Group 1, over those of the SDK by hand", grouped, hand, plan.Rate, true, []float64{1.25, 1.4}[i]})
		if callers == 64 {
			all = append(all, check{what: what + "requests a call, Group 1", over: grouped, measure: plan.Requests, want: .3})
		}
	}
	return all
}

// storeChecks are those of round trips.
func storeChecks() (all []check) {
	for _, series := range []string{"postgres", "redis"} {
		server := map[string]string{"postgres": "PostgreSQL", "redis": "Redis"}[series]
		for i, kind := range []work.Kind{work.First, work.Duplicate} {
			k := plan.Key{Series: series, Kind: kind, Callers: manyCallers}
			what := fmt.Sprintf("%s on %s: round trips", []string{"a first call", "a duplicate"}[i], server)
			all = append(all, check{what: what, over: k, measure: plan.Requests, want: float64(2 - i)})
		}
	}
	return all
}

// names are the series of batches in targets.
var names = map[string]string{"ahead": "ahead", "ahead-unrecorded": "ahead with `Unrecorded: 10`"}

// word is what the page calls calls of a kind.
func word(k work.Kind) string {
	switch k {
	case work.First, work.Queue, work.Stream:
		return "new"
	case work.Duplicate:
		return "duplicates"
	case work.Requeue, work.Restream:
		return "redelivered"
	}
	return string(k)
}

func records(n int) string {
	if n == 1 {
		return "a single record"
	}
	return fmt.Sprintf("a batch of %d", n)
}
