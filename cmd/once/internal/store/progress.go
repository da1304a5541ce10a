package store

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

// After returns the position of the page that follows, as a word for a shell: that of
// PostgreSQL is an id, with any characters.
func (p *Progress) After() string { return base64.RawURLEncoding.EncodeToString([]byte(p.next)) }

// Progress is shown to a person who waits for a long scan.
type Progress struct {
	To       io.Writer
	redraw   bool
	Pages    int
	Items    int
	Total    int64 // about so many, or 0
	Units    float64
	reported int
	next     string // the position of the page that follows
	Sweep    string // the verb of a sweep, such as "deleted"
	Swept    int    // records, so far
}

// ProgressItems is after how many items progress is told where there is no terminal.
const ProgressItems = 10_000

func NewProgress(to cli.Terminal, quiet bool) *Progress {
	p := &Progress{To: to.Err, redraw: cli.IsTerminal(to.Err)}
	if quiet {
		p.To = io.Discard
	}
	return p
}

// ProgressAt returns the progress of a scan that continues at a position of [Progress.After],
// and tells no terminal.
func ProgressAt(after string) (*Progress, error) {
	next, err := base64.RawURLEncoding.DecodeString(after)
	return &Progress{To: io.Discard, next: string(next)}, err
}

// Page shows the progress after a page: on a terminal from the second page on,
// elsewhere after every 10,000 items or so.
func (p *Progress) Page(done driver.Progress) {
	p.Pages++
	p.Items += done.Read
	p.Units += done.Units
	switch {
	case p.redraw && p.Pages > 1:
		fmt.Fprintf(p.To, "\r%s\x1b[K", p)
	case !p.redraw && p.Items-p.reported >= ProgressItems:
		p.reported = p.Items
		fmt.Fprintln(p.To, p)
	}
}

func (p *Progress) End() {
	if p.redraw && p.Pages > 1 {
		fmt.Fprintln(p.To)
	}
}

func (p *Progress) String() string {
	var did []string
	switch {
	case p.Units > 0:
		did = append(did, fmt.Sprintf("read %d%s items in %d pages, %.0f read units", p.Items, p.of(), p.Pages, p.Units))
	case p.Items > p.Swept || p.Sweep == "":
		did = append(did, fmt.Sprintf("read %d%s records", p.Items, p.of()))
	}
	if p.Sweep != "" {
		did = append(did, fmt.Sprintf("%s %d records", p.Sweep, p.Swept))
	}
	return strings.Join(did, ", ")
}

func (p *Progress) of() string {
	if p.Total < int64(p.Items) {
		return ""
	}
	return fmt.Sprintf(" of about %d", p.Total)
}
