package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lambda-once/once/idempotent/driver"
)

// Apply applies the change of an operator to a record that is stored exactly as e: see
// [driver.Operable]. A result that is larger than Options.MaxSize is an error.
func (s *Store) Apply(ctx context.Context, e driver.Entry, c driver.Change) (driver.Entry, bool, error) {
	err := e.Validate(c)
	if len(c.Data) > s.layout.maxSize {
		err = errors.Join(err, &driver.InvalidWriteError{Reason: "the result is larger than Options.MaxSize"})
	}
	if err != nil {
		return driver.Entry{}, false, s.refused("Apply", err)
	}
	st := s.layout.apply(e, c)
	var page driver.Page
	err = retry(ctx, func() (err error) {
		page, _, err = s.entries(ctx, st)
		return err
	})
	switch {
	case err != nil:
		failed := s.fail("Apply", err).(*Error)
		failed.notWritten = isAnswer(err) || pgconn.SafeToRetry(err)
		return driver.Entry{}, false, failed
	case len(page.Entries) == 0:
		met, err := s.Inspect(ctx, e.ID)
		if err != nil {
			err.(*Error).notWritten = true
		}
		return met, false, err
	case c.Release == driver.ReleaseDelete:
		return driver.Entry{At: page.At}, true, nil
	}
	return page.Entries[0], true, nil
}

// apply returns the statement that applies c to a row that is stored as e. Its
// condition is checked once more on a row that has changed meanwhile.
func (l *layout) apply(e driver.Entry, c driver.Change) statement {
	p := own(e.ID)
	if c.Release == driver.ReleaseDelete {
		p.write("DELETE FROM ", l.table, " AS stored")
	} else {
		p.write("UPDATE ", l.table, " AS stored SET ")
		l.set(p, c)
		if c.Release != 0 {
			p.write(`, "began" = NULL`)
		}
	}
	p.write(` WHERE stored."id" = $1::text AND `, wholeRow, " = ").arg(e.Stored, "text")
	p.write(" RETURNING ")
	l.shown(p, false)
	return p.statement()
}
