package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

func TestMain(m *testing.M) {
	serveIfWorker()
	os.Exit(m.Run())
}

var keep = flag.String("keep", "", "a folder for the page of the short run")

// measureShort measures one round of few calls, for all tests. Its times mean nothing.
var measureShort = sync.OnceValues(func() (*results, error) {
	return measureAll(context.Background(), plan{
		atLeast: 1, part: .1, sizes: []int{100, 100 << 10}, tableSizes: []int{10, 1000},
		latencies: []time.Duration{0, 2 * time.Millisecond},
	}, os.Stderr)
})

func shortRun(t *testing.T) *results {
	t.Helper()
	r, err := measureShort()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eachFigure calls f for each series in each scenario.
func eachFigure(t *testing.T, f func(*results, work.Case)) {
	t.Helper()
	r := shortRun(t)
	for _, s := range r.scenarios() {
		for _, by := range s.by {
			s.Series = by.name
			f(r, s.Case)
		}
	}
}

func TestEverySeriesHasAFigureInEveryScenario(t *testing.T) {
	eachFigure(t, func(r *results, c work.Case) {
		for _, m := range []measure{rate, cpuMS} {
			if v := r.of(c, m); len(v) != 1 || v[0] <= 0 {
				t.Errorf("%+v: %v", c, v)
			}
		}
		if written := r.spread(c, writeUnits).mid; c.Metered && c.Kind == work.First && written < float64(c.Bytes/1024) {
			t.Errorf("%+v: %v units", c, written)
		}
	})
}

// Grouping depends on time: "make bench" compares its requests with targets instead.
func TestRoundTripsAreThoseOfThePages(t *testing.T) {
	want := map[work.Kind]float64{work.First: 2, work.Duplicate: 1, work.Conflict: 1, work.Cached: 0, work.Memory: 0, work.Yardstick: 0}
	n := 0
	eachFigure(t, func(r *results, c work.Case) {
		requested, ok := want[c.Kind]
		switch {
		case strings.Contains(c.Series, "grouped"):
			return
		case c.Series == "memory":
			requested = 0
		case c.Series == "postgres-hand", c.Series == "redis-hand":
			requested = 2 // an INSERT or SET NX, and an UPDATE or SET, or a SELECT or GET
		case c.Series == "read-first" && c.Kind == work.First:
			requested = 3
		case c.Kind == work.Queue || c.Kind == work.Stream:
			requested, ok = 2*float64(c.Size), true
		case c.Kind == work.Requeue || c.Kind == work.Restream:
			requested, ok = float64(c.Size), true
		case c.Kind == work.Steps:
			requested, ok = 2+float64(c.Size), true
		}
		if got := r.of(c, requests)[0]; !ok || got != requested {
			t.Errorf("%+v: %v requests, want %v", c, got, requested)
		}
		n++
	})
	if n < 80 {
		t.Errorf("only %d figures", n)
	}
}

// Times are those of an idle machine, and of many rounds, and so are shared requests: a
// call that comes too late sends its own.
func TestTargetsThatAreNotTimedAreMet(t *testing.T) {
	r := shortRun(t)
	untimed := 0
	for _, target := range r.targets() {
		if target.timed() {
			continue
		}
		untimed++
		if !target.met() {
			t.Errorf("%s: %v, want %s %v", target.what, target.got, target.bound, target.want)
		}
	}
	if untimed < 4 {
		t.Errorf("only %d targets", untimed)
	}
}

func TestPageHasEveryPlotAndSeries(t *testing.T) {
	r, dir := shortRun(t), cmp.Or(*keep, t.TempDir())
	err := page{results: r, Machine: thisMachine(), Date: time.Now(), Took: time.Minute}.write(dir)
	text, missing := os.ReadFile(filepath.Join(dir, "performance.md"))
	if err := errors.Join(err, missing); err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for name := range r.charts() {
		svg, err := os.ReadFile(filepath.Join(dir, "performance", name))
		if err != nil || !strings.Contains(page, "](performance/"+name+")") || !strings.Contains(string(svg), "prefers-color-scheme: dark") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range slices.Concat(callSeries, meteredSeries, storeSeries, batchSeries) {
		if !strings.Contains(page, "| "+s.label+" |") {
			t.Errorf("the page has no %s", s.label)
		}
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "\n\n\n") {
		t.Error("the page has a mistake")
	}
}
