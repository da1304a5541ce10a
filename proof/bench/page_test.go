package bench

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"
)

var (
	write   = flag.Bool("write", false, "write docs/performance.md and its plots")
	results = flag.String("results", "", "take the figures from this `file`, which has what benchmarks have printed, and write the page")
)

//go:embed performance.md.tmpl
var layout string

// The units of benchmarks, as benchfmt has them.
const (
	wall = "sec/op"
	cpu  = "cpu-sec/op"
)

// text returns the page.
func (f *figures) text() (string, error) {
	t, err := template.New("performance.md").Funcs(template.FuncMap{
		"fact": func(name string) string { return f.facts[name] },
		"busy": f.busy,
		"call": func(series, kind string, callers, ms int) string {
			return callName(kind, time.Duration(ms)*time.Millisecond, callers, series)
		},
		"batch": func(series string, size int, delivery string, ms int) string {
			return batchName("sqs", size, delivery, time.Duration(ms)*time.Millisecond, series)
		},
		"figure": func(name, unit string, times float64) spread { return f.figure(name, unit).times(times) },
		"ratio":  f.ratio,
		"short":  func(s spread) string { return short(s.mid) },
		"target": target,
		"oneCPU": f.oneCPU,
	}).Parse(layout)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = t.Execute(&b, nil)
	return b.String(), err
}

// target returns a row of the table of targets. A target is met by its median, with the
// digits that are stored.
func target(what string, got spread, bound string, want float64) (string, error) {
	var median float64
	if _, err := fmt.Sscan(digits(got.mid), &median); err != nil {
		return "", err
	}
	met := "**no**"
	if bound == "at least" && median >= want || bound == "at most" && median <= want {
		met = "yes"
	}
	return fmt.Sprintf("| %s | %s %s | %s | %s |", what, bound, short(want), got, met), nil
}

// oneCPU returns the share of the CPU that GOMAXPROCS=1 saves in batches with Group, in
// percent: the median of all.
func (f *figures) oneCPU() float64 {
	var left []float64
	for _, delivery := range []string{"new", "again"} {
		for _, latency := range latencies {
			for _, of := range []struct {
				source string
				size   int
			}{{"sqs", 10}, {"sqs", 25}, {"kinesis", 100}} {
				name := func(series string) string { return batchName(of.source, of.size, delivery, latency, series) }
				left = append(left, f.figure(name("ahead-grouped-one"), cpu).mid/f.figure(name("ahead-grouped"), cpu).mid)
			}
		}
	}
	return math.Round(100 * (1 - spreadOf(left).mid))
}

func TestATargetIsMetByItsMedian(t *testing.T) {
	for want, met := range map[string]bool{"at least 2": true, "at least 2.1": false, "at most 2": true, "at most 1.9": false} {
		bound, number := want[:strings.LastIndex(want, " ")], 0.0
		_, err := fmt.Sscan(want[len(bound):], &number)
		must(t, err)
		row, err := target("x", spread{1, 2, 3}, bound, number)
		if err != nil || strings.Contains(row, "yes") != met || !strings.Contains(row, "2 (1–3)") {
			t.Errorf("%s: %q, %v", want, row, err)
		}
	}
}

func TestPageHasTheFiguresOfItsRun(t *testing.T) {
	if *results != "" {
		must(t, store(*results))
	}
	f, err := read(figuresFile)
	must(t, err)
	text, err := f.text()
	must(t, err)
	files := map[string][]byte{"performance.md": []byte(text)}
	for name, c := range f.charts() {
		drawn, err := c.svg()
		must(t, err)
		files["performance/"+name] = drawn
		if !strings.Contains(text, "](performance/"+name+")") {
			t.Errorf("%s is not on the page", name)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "| – |") {
		t.Error("a figure is missing")
	}
	for name, want := range files {
		name := filepath.Join("../../docs", name)
		if *write || *results != "" {
			must(t, os.WriteFile(name, want, 0o644))
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not made from %s and the template (%v): run go test ./bench -args -write", name, figuresFile, err)
		}
	}
}

// store stores the figures of a run that the page shows.
func store(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	f, err := parse(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if _, err := f.text(); err != nil {
		return err
	}
	f.charts()
	return f.write(figuresFile)
}
