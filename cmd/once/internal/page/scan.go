package page

import (
	"context"
	"fmt"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

type scanned struct {
	Items, Rows int
	Total       int64 // about so many, or 0
	Units       float64
	More        string // the position where it continues, or ""
	Continued   bool   // it did not begin at the first record
}

func (s *scanned) String() string {
	text := fmt.Sprintf("%d records", s.Items)
	if s.Total > int64(s.Items) {
		text += fmt.Sprintf(" of about %d", s.Total)
	}
	return text
}

// The records that a store looks at for one request: few while all are rows, and then as
// many as let 200 requests read 100,000 records of each store.
const (
	firstPage = 100
	maxPage   = 2000
	maxRows   = 100
)

// scan reads pages until there are no more, the budget is spent, or rows returns enough of
// them. After an error, the view has what was read before.
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
	v.Scan.Items, v.Scan.Units, v.Scan.Rows = p.Items, p.Units, rows()
	if more || err != nil {
		v.Scan.More = p.After()
	}
	return err
}

func (v *view) Complete() bool { return v.Error == "" && v.Scan != nil && v.Scan.More == "" }
