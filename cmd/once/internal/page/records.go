package page

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

// scanEvery and readEvery are after how many seconds a live page is read again.
const (
	scanEvery = 60
	readEvery = 5
)

func (p *Page) operations(ctx context.Context, r *http.Request, v *view) error {
	all := record.Counts{}
	v.Title, v.Template = "Operations", "operations"
	v.live(scanEvery)
	err := v.scan(ctx, driver.Filter{Brief: true}, func() int { return 0 }, func(r *record.Record) { all.Add(r, v.before(r)) })
	v.Body = all
	return err
}

func (v *view) States() []record.State {
	return []record.State{record.Waiting, record.InProgress, record.Running, record.Lapsed, record.Released, record.Leaseless, record.Failed, record.Completed, record.Over}
}

// Alarms are those whose records can be found: most leave none that tells.
func (v *view) Alarms() map[string]template.URL {
	return map[string]template.URL{
		"Abandoned": "state=lapsed", "failures of a day": "state=failed&since=24h",
		"LapsedLeases, Takeovers": "attempt=2&since=24h", "Unknown, Forgotten": "state=waiting",
	}
}

type row struct {
	*record.Record
	State record.State
	Since time.Time
}

func (p *Page) list(ctx context.Context, r *http.Request, v *view) error {
	v.Title, v.Template = "Records", "records"
	v.live(scanEvery)
	var found record.Selection
	set := flag.NewFlagSet("", flag.ContinueOnError)
	found.Add(set)
	for _, name := range []string{"state", "error", "since", "until", "attempt"} {
		for _, text := range v.Query[name] {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			if err := set.Set(name, text); err != nil {
				return cli.Endf(cli.CodeUsage, "%s: %w", name, err)
			}
		}
	}
	q := driver.Filter{Brief: found.Cause == ""} // an earlier version stores the error in the result alone
	if operation := strings.TrimSpace(v.Query.Get("operation")); operation != "" {
		q.Prefix = operation + "#"
	}
	if err := found.Narrow(&q); err != nil {
		return err
	}
	var rows []row
	err := v.scan(ctx, q, func() int { return len(rows) }, func(r *record.Record) {
		if before := v.before(r); found.Selects(r, before) {
			rows = append(rows, row{r, r.StateAt(before), r.Since(before)})
		}
	})
	v.Body = struct {
		Rows   []row
		Untold int
	}{rows, found.Untold}
	return err
}

// find leads to the record that a key names. It is sent as a form, as an address stays in
// the history of a browser.
func (p *Page) find(ctx context.Context, r *http.Request, v *view) error {
	v.Title, v.Template, v.Query = "Find a record", "find", r.PostForm
	var k store.KeyFlags
	set := flag.NewFlagSet("", flag.ContinueOnError)
	k.Add(set)
	operation := strings.TrimSpace(v.Query.Get("operation"))
	err := set.Set("operation", operation)
	if scope := v.Query.Get("scope"); scope != "" {
		err = cmp.Or(err, set.Set("scope", scope))
	}
	if err != nil {
		return cli.Misuse(err)
	}
	named, err := k.Named(strings.TrimSpace(v.Query.Get("key")))
	if err != nil {
		return err
	}
	named.First = true // a page has no requests for the rest of the table
	progress, err := store.ProgressAt(v.Query.Get("after"))
	if err != nil {
		return cli.Endf(cli.CodeUsage, "there is no such position")
	}
	found, err := v.Store.Find(ctx, named, progress)
	v.Scan = &scanned{Items: progress.Items, Units: progress.Units}
	if _, spent := v.waits.Sent(); spent {
		v.Scan.More = progress.After()
		return nil
	}
	if err == nil {
		v.Elsewhere = "record?" + url.Values{"id": {found.ID}}.Encode()
	}
	return err
}

type shown struct {
	ID      string
	Unknown bool // what it is now
	State   record.State
	Now     time.Time
	Life    []record.Event
	Detail  string // as once inspect prints it
	Result  string
	Advice  []string
	Done    string // what the person has done, of a form before this page
	Actions []*action
}

func (v *view) shown(r *record.Record) *shown {
	now := v.Store.Now()
	before := now.Add(-v.Skew)
	s := &shown{ID: r.ID, Now: now, State: r.StateAt(before), Life: r.Life(now, before)}
	s.Advice = strings.Split(r.Advice(s.State), "\n")
	var detail bytes.Buffer
	r.Print(&detail, now, before)
	s.Detail = detail.String()
	if v.Data {
		s.Result = r.Result()
	}
	if !v.Write {
		return s
	}
	for _, a := range actions {
		if a.isOffered == nil || a.isOffered(v.Page) {
			s.Actions = append(s.Actions, a)
		}
	}
	return s
}

func (p *Page) record(ctx context.Context, r *http.Request, v *view) error {
	v.live(readEvery)
	found, err := v.Store.Read(ctx, v.Query.Get("id"))
	if err != nil {
		return err
	}
	v.Title, v.Template, v.Body = "Record", "record", v.shown(found)
	return nil
}

type scanned struct {
	Items     int
	Total     int64 // about so many, or 0
	Units     float64
	More      string // the position where it continues, or ""
	Continued bool   // it did not begin at the first record
}

func (s *scanned) String() string {
	if s.Total > int64(s.Items) {
		return fmt.Sprintf("%d records of about %d", s.Items, s.Total)
	}
	return fmt.Sprintf("%d records", s.Items)
}

// The records that a store looks at for one request: few while all are rows, and then as
// many as let 200 requests read 100,000 records of each store.
const (
	firstPage = 100
	maxPage   = 2000
	maxRows   = 100
)

// scan reads pages until there are no more, the budget is spent, or rows returns enough of
// them. After an error, the view has the records that were read before.
func (v *view) scan(ctx context.Context, q driver.Filter, rows func() int, each func(*record.Record)) error {
	after := v.Query.Get("after")
	p, err := store.ProgressAt(after)
	if err != nil {
		return cli.Endf(cli.CodeUsage, "there is no such position")
	}
	v.Scan = &scanned{Total: v.Store.Total(ctx), Continued: after != ""}
	more := true
	for q.Limit = firstPage; more && rows() < maxRows; q.Limit = min(4*q.Limit, maxPage) {
		more, err = v.Store.Page(ctx, q, p, func(r *record.Record) error { each(r); return nil })
		if _, spent := v.waits.Sent(); spent && p.Items > 0 {
			more, err = true, nil
			break
		} else if err != nil {
			break
		}
	}
	v.Scan.Items, v.Scan.Units = p.Items, p.Units
	if more || err != nil {
		v.Scan.More = p.After()
	}
	return err
}

func (v *view) Complete() bool { return v.Error == "" && v.Scan != nil && v.Scan.More == "" }
