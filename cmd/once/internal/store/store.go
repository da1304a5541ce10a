// Package store opens the store of the records, and reads and changes them for an operator.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/checked"
)

type Store struct {
	driver.Operable
	Place string        // such as "table records"
	ahead time.Duration // of this machine's clock is the server's
	Behind
}

// Behind is the server of a store, which checks ask: a *Table, *PostgresTable or *RedisServer.
type Behind interface {
	// Where returns the place with its server, by which a journal knows the store again.
	Where(context.Context) (string, error)
	size(context.Context) (extent, error)
}

// Now returns the time by the server's clock, once the server has responded: a laptop
// whose clock is ahead would take a live lease for a lapsed one.
func (s *Store) Now() time.Time { return time.Now().Add(s.ahead) }

func (s *Store) observed(at time.Time) { s.ahead = time.Until(at) }

// Read reads a record, whether it is sound or not.
func (s *Store) Read(ctx context.Context, id string) (*record.Record, error) {
	e, err := s.Inspect(ctx, id)
	switch {
	case err != nil:
		return nil, CallError(err)
	case e.ID == "":
		return nil, cli.Endf(cli.CodeNoRecord, "no record %s in %s", cli.Printable(id), s.Place)
	}
	s.observed(e.At)
	return record.New(e), nil
}

func IsMissing(err error) bool {
	var end *cli.Ending
	return errors.As(err, &end) && end.Code == cli.CodeNoRecord
}

// Each reads the records that f selects page by page from p.next on, and stores none.
func (s *Store) Each(ctx context.Context, f driver.Filter, p *Progress, each func(*record.Record) error) error {
	for {
		if more, err := s.Page(ctx, f, p, each); !more || err != nil {
			return err
		}
	}
}

func (s *Store) Page(ctx context.Context, f driver.Filter, p *Progress, each func(*record.Record) error) (more bool, err error) {
	page, err := s.Scan(ctx, f, p.next)
	if err != nil {
		return false, CallError(err)
	}
	s.observed(page.At)
	for _, e := range page.Entries {
		if checked.Is(e.ID) {
			continue
		}
		if err := each(record.New(e)); err != nil {
			return false, err
		}
	}
	p.Page(page.Progress)
	p.next = page.Next
	return p.next != "", nil
}

// CallError returns the error of a call. An error that the store returns before it sends
// anything is the user's mistake.
func CallError(err error) error {
	var mistakes *driver.ConfigError
	if isInvalid(err) || errors.As(err, &mistakes) {
		return cli.Misuse(err)
	}
	return err
}

// Write applies c if the record is as shown, and returns it as written. Otherwise it
// returns an error, and the record as it is now, or nil if it is gone.
func (s *Store) Write(ctx context.Context, shown *record.Record, c driver.Change) (*record.Record, error) {
	met, ok, err := s.Apply(ctx, shown.Entry, c)
	var found *record.Record
	if met.ID != "" {
		found = record.New(met)
	}
	switch known := err == nil || !met.At.IsZero(); {
	case ok, known && isApplied(shown, c, found):
		// The client may have sent the write again, as its first answer did not arrive.
		return found, nil
	case errors.Is(err, driver.ErrNotWritten), isInvalid(err):
		return nil, fmt.Errorf("nothing was written: %w", err)
	case !known:
		return nil, cli.Endf(cli.CodeUnacknowledged, "the record may have been written; inspect it before you repeat the command: %w", err)
	case err != nil:
		return found, cli.Endf(cli.CodeUnacknowledged, "the record has changed since it was shown, and may have been written in between; inspect it before you repeat the command")
	}
	return found, cli.Endf(cli.CodeChanged, "the record has changed since it was shown; nothing was written")
}

func isInvalid(err error) bool {
	var invalid *driver.InvalidWriteError
	return errors.As(err, &invalid)
}

// isApplied reports whether met is a record after c. The operator's token is enough.
func isApplied(r *record.Record, c driver.Change, met *record.Record) bool {
	if c.Owner != "" {
		return met != nil && met.Status == c.Status && met.Owner == c.Owner
	}
	return met.Version() == r.After(c).Version()
}
