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
	Pages    int
	Items    int
	Total    int64 // about so many, or 0
	Units    float64
	reported struct{ items, pages int }
	next     string // the position of the page that follows
	Sweep    string // the verb of a sweep, such as "deleted"
	Swept    int    // records, so far
}

// ProgressItems and progressPages are after how many progress is told, whichever comes first:
// pages have few items if these are large.
const (
	ProgressItems = 10_000
	progressPages = 100
)

func NewProgress(to cli.Terminal, quiet bool) *Progress {
	if quiet {
		return &Progress{To: io.Discard}
	}
	return &Progress{To: to.Err}
}

// ProgressAt returns the progress of a scan that continues at a position of [Progress.After],
// and shows none of it.
func ProgressAt(after string) (*Progress, error) {
	next, err := base64.RawURLEncoding.DecodeString(after)
	return &Progress{To: io.Discard, next: string(next)}, err
}

func (p *Progress) Page(done driver.Progress) {
	p.Pages++
	p.Items += done.Read
	p.Units += done.Units
	if p.Items-p.reported.items >= ProgressItems || p.Pages-p.reported.pages >= progressPages {
		p.reported.items, p.reported.pages = p.Items, p.Pages
		fmt.Fprintln(p.To, p)
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
