package report

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/lambda-once/once/proof/bench/internal/plan"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

//go:embed performance.md.tmpl
var text string

// page contains the figures and tables that the text refers to.
type page struct {
	*plan.Results
	Machine Machine
	Cold    *ColdStart
	date    time.Time
	took    time.Duration
}

// Page returns the whole page. Without a cold start, it has no section of it.
func Page(r *plan.Results, m Machine, cold *ColdStart, date time.Time, took time.Duration) (string, error) {
	t, err := template.New("performance.md").Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, &page{r, m, cold, date, took})
	return b.String(), err
}

func (p *page) Date() string        { return p.date.Format("2 January 2006") }
func (p *page) Minutes() string     { return fmt.Sprintf("%.0f", p.took.Minutes()) }
func (p *page) DynamoDB() string    { return p.Servers[work.DynamoDB] }
func (p *page) PostgreSQL() string  { return p.Servers[work.PostgreSQL] }
func (p *page) Redis() string       { return p.Servers[work.Redis] }
func (p *page) ManyCallers() string { return callers(manyCallers) }
func (p *page) NoSlower() float64   { return noSlower }
func (p *page) Targets() string     { return TargetTable(p.Results, p.Cold) }

// MemoryRatio returns the CPU of a duplicate in memory, the work of Once alone, over that
// of JSON.
func (p *page) MemoryRatio() Spread {
	return spreadOf(p.Ratio(inMemory, yardstick, plan.CPUMS))
}

// MemoryAllocations returns the allocations of a duplicate in memory.
func (p *page) MemoryAllocations() string { return mid(p.Of(inMemory, plan.Mallocs)) }

var (
	inMemory  = plan.Key{Series: "once", Kind: work.Memory, Callers: 1}
	yardstick = plan.Key{Series: "once", Kind: work.Yardstick, Callers: 1}
)

// A ColdStart is the cost of protection when a function starts.
type ColdStart struct {
	Bare, Protected Bytes   // that are loaded
	InitMS          float64 // before main, in packages that only the protected function has
	Allocated       Bytes   // by constructors
}

// More returns how much more a protected function loads.
func (c ColdStart) More() Bytes { return c.Protected - c.Bare }

// Init returns InitMS for the page.
func (c ColdStart) Init() string { return short(c.InitMS) }

// Bytes are a number of bytes.
type Bytes float64

// MB returns the number of millions.
func (b Bytes) MB() string { return fmt.Sprintf("%.1f", b/1e6) }

// KB returns the number of thousands.
func (b Bytes) KB() string { return fmt.Sprintf("%.1f", b/1e3) }
