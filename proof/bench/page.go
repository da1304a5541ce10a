package main

import (
	"bytes"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

//go:embed performance.md.tmpl
var text string

var layout = template.Must(template.New("performance.md").Parse(text))

// page is the data of the page's template, with the tables of results.
type page struct {
	*results
	Machine machine
	Date    time.Time
	Took    time.Duration
}

// write writes the page and its plots.
func (p page) write(dir string) error {
	plots := filepath.Join(dir, "performance")
	err := os.MkdirAll(plots, 0o755)
	for name, c := range p.charts() {
		err = errors.Join(err, os.WriteFile(filepath.Join(plots, name), []byte(c.svg(p.results)), 0o644))
	}
	var b bytes.Buffer
	if err := errors.Join(err, layout.Execute(&b, p)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "performance.md"), b.Bytes(), 0o644)
}

// ManyCallers and NoSlower are constants of the page.
func (p page) ManyCallers() string { return calling(manyCallers) }
func (p page) NoSlower() float64   { return noSlower }

var (
	inMemory  = work.Case{Series: "once", Kind: work.Memory, Callers: 1}
	yardstick = work.Case{Series: "once", Kind: work.Yardstick, Callers: 1}
)

// MemoryRatio returns the CPU of a duplicate in memory, the work of Once alone, over that
// of JSON.
func (p page) MemoryRatio() spread { return spreadOf(p.ratio(inMemory, yardstick, cpuMS)) }

// MemoryAllocations returns the allocations of a duplicate in memory.
func (p page) MemoryAllocations() string { return short(p.spread(inMemory, mallocs).mid) }

// Price returns the write or read units of a duplicate with a result of 100 KB.
func (p page) Price(series string) string {
	last := p.sizes[len(p.sizes)-1]
	return p.units(work.Case{Series: series, Kind: work.Duplicate, Callers: 1, Bytes: last, Metered: true})
}

// A machine is where a run took place.
type machine struct {
	CPU     string
	Cores   int
	Go      string
	Warning string // a sentence, if the machine was not idle before the run
}

var model = regexp.MustCompile(`(?m)^model name\s*:\s*(.*\S)`)

// thisMachine returns the facts that can be found out. Not every system has the files of Linux.
func thisMachine() machine {
	m := machine{CPU: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU()}
	m.Go = strings.TrimPrefix(runtime.Version(), "go")
	info, _ := os.ReadFile("/proc/cpuinfo")
	if found := model.FindSubmatch(info); found != nil {
		m.CPU = strings.Join(strings.Fields(string(found[1])), " ")
	}
	loads, _ := os.ReadFile("/proc/loadavg")
	minute, _, _ := strings.Cut(string(loads), " ")
	if load, err := strconv.ParseFloat(minute, 64); err == nil && load >= 0.5*float64(m.Cores) {
		m.Warning = " **The machine was not idle**: before the run, its load was " + minute + "."
	}
	return m
}
