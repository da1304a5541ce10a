package main

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

//go:embed performance.md.tmpl
var text string

// page is what the template of the page refers to, with the tables of results.
type page struct {
	*results
	Machine machine
	Date    time.Time
	Took    time.Duration
}

// write writes the page and its plots.
func (p page) write(dir string) error {
	if err := p.writeCharts(filepath.Join(dir, "performance")); err != nil {
		return err
	}
	t, err := template.New("performance.md").Parse(text)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "performance.md"), []byte(b.String()), 0o644)
}

// Targets, ManyCallers and NoSlower return parts of the page.
func (p page) Targets() table      { return p.targetTable() }
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
