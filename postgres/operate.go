package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/idempotent/driver"
)

var _ driver.Sweeper = (*Store)(nil)

// maxPage bounds the records of a page.
const maxPage = 1000

// Inspect returns a record as it is stored, for an operator: see [driver.Operable].
func (s *Store) Inspect(ctx context.Context, id string) (driver.Entry, error) {
	p := own(id).write("SELECT ")
	s.layout.shown(p, false)
	page, _, err := s.entries(ctx, p.write(" FROM ", s.layout.table, ` AS stored WHERE stored."id" = $1::text`).statement())
	switch {
	case err != nil:
		return driver.Entry{}, s.fail("Inspect", err)
	case len(page.Entries) == 0:
		at, err := s.serverTime(ctx)
		if err != nil {
			return driver.Entry{}, s.fail("Inspect", err)
		}
		return driver.Entry{At: at}, nil
	}
	return page.Entries[0], nil
}

// serverTime returns the time of the server where no row contains it. The clock of the
// caller may differ, and must not decide which records are swept.
func (s *Store) serverTime(ctx context.Context) (time.Time, error) {
	rows, err := s.db.Query(ctx, "SELECT clock_timestamp()")
	if err != nil {
		return time.Time{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[time.Time])
}

// Scan returns a page of records, for an operator: see [driver.Operable]. A page is
// Filter.Limit records or 1,000, in the order of their ids.
func (s *Store) Scan(ctx context.Context, f driver.Filter, after string) (driver.Page, error) {
	limit := maxPage
	if f.Limit > 0 {
		limit = f.Limit
	}
	page, last, err := s.entries(ctx, s.layout.scan(f, after, limit))
	if err == nil && len(page.Entries) == 0 {
		page.At, err = s.serverTime(ctx)
	}
	if err != nil {
		return driver.Page{Progress: driver.Progress{Next: after}}, s.fail("Scan", err)
	}
	if n := len(page.Entries); n == limit {
		page.Next = last
	}
	for i := range page.Entries {
		if e := &page.Entries[i]; f.Brief {
			e.Payload, e.Unavailable = "", ""
		}
	}
	return page, nil
}

// scan returns the statement that reads a page.
func (l *layout) scan(f driver.Filter, after string, limit int) statement {
	p := &phrase{args: []any{after}}
	p.write("SELECT ")
	l.shown(p, f.Brief)
	p.write(" FROM ", l.table, ` AS stored WHERE stored."id" > $1::text`)
	if f.Status != driver.Absent {
		p.write(` AND stored."status" = `).arg(string(f.Status), "text")
	}
	if f.Prefix != "" {
		pattern := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Prefix) + "%"
		p.write(` AND stored."id" LIKE `).arg(pattern, "text")
	}
	if !f.Expired.IsZero() {
		p.args = append(p.args, whenSeconds(f.Expired), whenMillis(f.Expired))
		p.write(" AND ", l.expired("stored", len(p.args)-1))
	}
	if !f.Lapsed.IsZero() {
		// As in the index, which no parameter for the status would match.
		p.write(" AND ", l.isInProgress("stored."), ` AND stored."lease" < `).arg(whenMillis(f.Lapsed), "timestamptz")
	}
	return p.write(` ORDER BY stored."id" LIMIT `).arg(limit, "bigint").statement()
}

// shown writes the columns for an operator: the id as it is stored, the server's time,
// the row in one text, and its columns.
func (l *layout) shown(p *phrase, brief bool) {
	text := wholeRow
	if brief {
		text = "''"
	}
	p.write(`stored."id", clock_timestamp(), `, text, ", ")
	l.row(p, !brief)
}

// entries runs a statement that returns the columns of shown, and returns the last id as
// it is stored.
func (s *Store) entries(ctx context.Context, st statement) (page driver.Page, last string, err error) {
	rows, err := s.db.Query(ctx, st.sql, st.args...)
	if err != nil {
		return page, "", err
	}
	defer rows.Close()
	for rows.Next() {
		var e driver.Entry
		var text string
		r, err := scan(rows, &last, &e.At, &text)
		if unreadable, ok := errors.AsType[*unreadableError](err); ok {
			e.Problems = unreadable.problems
		} else if err != nil {
			return page, "", err
		}
		if e.Record, page.At = r.Record, e.At; text != "" {
			e.Stored, e.Size = text, r.bytes()
		}
		page.Entries = append(page.Entries, e)
	}
	page.Read = len(page.Entries)
	return page, last, rows.Err()
}
