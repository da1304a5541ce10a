package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/crew"
	"github.com/lambda-once/once/proof/bench/internal/plan"
	"github.com/lambda-once/once/proof/bench/internal/report"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

func TestMain(m *testing.M) {
	if crew.IsWorker() {
		os.Exit(crew.Work())
	}
	os.Exit(m.Run())
}

var keep = flag.String("keep", "", "a folder for the page of the short run")

// short is one round of few calls, for all tests. Its times mean nothing.
var short = sync.OnceValues(func() (*plan.Results, error) {
	r, _, err := measure(context.Background(), plan.Short(), os.Stderr)
	return r, err
})

func shortRun(t *testing.T) *plan.Results {
	t.Helper()
	r, err := short()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func keyOf(s plan.Scenario, series string) plan.Key {
	return plan.Key{Series: series, Kind: s.Kind, Latency: s.Latency, Callers: s.Callers, Size: s.Size, Records: s.Records}
}

func TestEverySeriesHasAFigureInEveryScenario(t *testing.T) {
	r := shortRun(t)
	for _, s := range r.Plan.Scenarios {
		for _, series := range s.Series {
			for _, m := range []plan.Measure{plan.Rate, plan.CPUMS} {
				if v := r.Of(keyOf(s, series), m); len(v) != 1 || v[0] <= 0 {
					t.Errorf("%+v: %v", keyOf(s, series), v)
				}
			}
		}
	}
	for _, series := range plan.MeteredSeries {
		for _, bytes := range r.Plan.Results {
			u := r.Capacity[plan.CapacityKey{Series: series, Kind: work.First, Bytes: bytes}]
			if atLeast := float64(bytes / 1024); u.Requests < 2 || u.Write < atLeast {
				t.Errorf("%s, %d bytes: %+v", series, bytes, u)
			}
		}
	}
}

// Grouping depends on time: "make bench" compares its requests with targets instead.
func TestRoundTripsAreThoseOfThePages(t *testing.T) {
	r := shortRun(t)
	want := map[work.Kind]float64{work.First: 2, work.Duplicate: 1, work.Conflict: 1, work.Cached: 0, work.Memory: 0, work.Yardstick: 0}
	n := 0
	for _, s := range r.Plan.Scenarios {
		for _, series := range s.Series {
			requests, ok := want[s.Kind]
			switch {
			case strings.Contains(series, "grouped"):
				continue
			case series == "memory":
				requests = 0
			case series == "postgres-hand":
				requests = 2 // an INSERT, and an UPDATE or a SELECT
			case s.Kind == work.Queue || s.Kind == work.Stream:
				requests, ok = 2*float64(s.Size), true
			case s.Kind == work.Requeue || s.Kind == work.Restream:
				requests, ok = float64(s.Size), true
			case s.Kind == work.Steps:
				requests, ok = 2+float64(s.Size), true
			}
			if got := r.Of(keyOf(s, series), plan.Requests)[0]; !ok || got != requests {
				t.Errorf("%+v: %v requests, want %v", keyOf(s, series), got, requests)
			}
			n++
		}
	}
	if n < 80 {
		t.Errorf("only %d figures", n)
	}
}

// Times are those of an idle machine, and of many rounds, and so are shared requests: a
// call that comes too late sends its own.
func TestTargetsThatAreNotTimedAreMet(t *testing.T) {
	untimed := 0
	for _, target := range report.Targets(shortRun(t), nil) {
		if target.Timed {
			continue
		}
		untimed++
		if !target.Met() {
			t.Errorf("%s: %v, want %s", target.What, target.Got, target.Bound())
		}
	}
	if untimed < 4 {
		t.Errorf("only %d targets", untimed)
	}
}

func TestPageHasEveryPlotAndSeries(t *testing.T) {
	r, dir := shortRun(t), *keep
	if dir == "" {
		dir = t.TempDir()
	}
	if err := write(dir, r, report.ThisMachine(), nil, time.Now(), time.Minute); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for name := range report.Plots {
		svg, err := os.ReadFile(filepath.Join(dir, "performance", name))
		if err != nil || !strings.Contains(page, "](performance/"+name+")") || !strings.Contains(string(svg), "prefers-color-scheme: dark") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range work.All {
		if !strings.Contains(page, "| "+s.Label+" |") {
			t.Errorf("the page has no %s", s.Label)
		}
	}
	if lines := strings.Count(page, "\n"); strings.Contains(page, "NaN") || strings.Contains(page, "\n\n\n") || lines > 250 {
		t.Errorf("the page of %d lines has a mistake", lines)
	}
}
