package main

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
)

// scanFlags are the flags of the commands that read the whole table.
type scanFlags struct {
	storeFlags
	operation, status, prefix string
	after                     string
	quiet, yes                bool
}

func (o *scanFlags) add(f *flag.FlagSet) {
	o.storeFlags.add(f)
	f.StringVar(&o.operation, "operation", "", "only the records of this `operation`")
	f.StringVar(&o.prefix, "prefix", "", "only records whose id begins with this `text`")
	f.StringVar(&o.status, "status", "", "only records of this `status`: INPROGRESS, COMPLETED or FAILED")
	o.addView(f)
	f.StringVar(&o.after, "after", "", "continue at this `position`, which an earlier run printed that did not reach the end")
	f.BoolVar(&o.quiet, "quiet", false, "print no progress")
	f.BoolVar(&o.yes, "yes", false, "do not ask before a table of more than a gigabyte is read")
}

func (o *scanFlags) openAll(ctx context.Context, c *call) (*store, error) {
	if _, err := c.parse(0); err != nil {
		return nil, err
	}
	if o.prefix != "" && o.operation != "" {
		return nil, endf(codeUsage, "--prefix excludes --operation: it begins with the operation itself")
	}
	switch o.status = strings.ToUpper(o.status); o.status {
	case "", "INPROGRESS", "COMPLETED", "FAILED":
	default:
		return nil, endf(codeUsage, "--status is none of INPROGRESS, COMPLETED and FAILED")
	}
	if c.given("after") && o.after == "" {
		return nil, errNoPosition
	}
	after, err := base64.RawURLEncoding.DecodeString(o.after)
	if err != nil {
		return nil, endf(codeUsage, "--after is no position that %s has printed", c.Name())
	}
	o.after = string(after)
	return o.open(ctx, c)
}

var errNoPosition = endf(codeUsage, "--after names no position; is a variable unset?")

// progress is that of a scan which begins at --after.
func (o *scanFlags) progress(c *call) *progress {
	p := newProgress(c.terminal, o.quiet)
	p.next = o.after
	return p
}

// stopped returns the error of a scan, with how far it came.
func (o *scanFlags) stopped(ctx context.Context, p *progress, err error) error {
	if err != nil && ctx.Err() != nil {
		err = errInterrupted
	}
	if err == nil || p.pages == 0 {
		return err
	}
	return fmt.Errorf("%w; %s; continue with --after %s", err, p, p.after())
}

// after returns the position of the page that follows, as a word for a shell: that of
// PostgreSQL is an id, with any characters.
func (p *progress) after() string { return base64.RawURLEncoding.EncodeToString([]byte(p.next)) }

func (o *scanFlags) query() driver.Filter {
	f := driver.Filter{Status: driver.Status(o.status), Prefix: o.prefix}
	if o.operation != "" {
		f.Prefix = o.operation + "#"
	}
	return f
}

// progress is shown to a person who waits for a long scan.
type progress struct {
	to       io.Writer
	redraw   bool
	pages    int
	items    int
	total    int64 // about so many, or 0
	units    float64
	reported int
	next     string // the position of the page that follows
	sweep    string // the verb of a sweep, such as "deleted"
	swept    int    // records, so far
}

const progressItems = 10_000

func newProgress(to terminal, quiet bool) *progress {
	p := &progress{to: to.err, redraw: isTerminal(to.err)}
	if quiet {
		p.to = io.Discard
	}
	return p
}

// page shows the progress after a page: on a terminal from the second page on,
// elsewhere after every 10,000 items or so.
func (p *progress) page(done driver.Progress) {
	p.pages++
	p.items += done.Read
	p.units += done.Units
	switch {
	case p.redraw && p.pages > 1:
		fmt.Fprintf(p.to, "\r%s\x1b[K", p)
	case !p.redraw && p.items-p.reported >= progressItems:
		p.reported = p.items
		fmt.Fprintln(p.to, p)
	}
}

func (p *progress) end() {
	if p.redraw && p.pages > 1 {
		fmt.Fprintln(p.to)
	}
}

func (p *progress) String() string {
	var did []string
	switch {
	case p.units > 0:
		did = append(did, fmt.Sprintf("read %d%s items in %d pages, %.0f read units", p.items, p.of(), p.pages, p.units))
	case p.items > p.swept || p.sweep == "":
		did = append(did, fmt.Sprintf("read %d%s records", p.items, p.of()))
	}
	if p.sweep != "" {
		did = append(did, fmt.Sprintf("%s %d records", p.sweep, p.swept))
	}
	return strings.Join(did, ", ")
}

// of returns how many there are, if that is known and still true.
func (p *progress) of() string {
	if p.total < int64(p.items) {
		return ""
	}
	return fmt.Sprintf(" of about %d", p.total)
}

// isTerminal reports whether f is a terminal, well enough to choose a layout.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
