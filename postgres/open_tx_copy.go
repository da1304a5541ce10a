package postgres

import (
	"github.com/jackc/pgx/v5"
)

// An interruptible source ends when its call does. pgx waits for the next row whatever the
// context says, so a goroutine that a handler has left behind, with a source that never
// ends, would hold the transaction for ever. While the handler runs, the source is waited
// for as pgx does: the handler may use it again after CopyFrom.
type interruptible struct {
	source pgx.CopyFromSource
	ended  <-chan struct{}
	row    copiedRow
}

type copiedRow struct {
	values []any
	err    error
	ok     bool
}

// Next reads a row in a goroutine, which lives as long as the source takes for it.
func (s *interruptible) Next() bool {
	row := make(chan copiedRow, 1)
	go func() {
		if !s.source.Next() {
			row <- copiedRow{err: s.source.Err()}
			return
		}
		values, err := s.source.Values()
		row <- copiedRow{values, err, true}
	}()
	select {
	case s.row = <-row:
	case <-s.ended:
		s.row = copiedRow{err: pgx.ErrTxClosed}
	}
	return s.row.ok
}

func (s *interruptible) Values() ([]any, error) { return s.row.values, s.row.err }

func (s *interruptible) Err() error { return s.row.err }
