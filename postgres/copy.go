package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// An interruptible source ends when its context does. pgx waits for the next row
// whatever the context says, so a goroutine that a handler has left behind, with a source
// that never ends, would hold the transaction for ever.
type interruptible struct {
	pgx.CopyFromSource
	ctx context.Context
	err error
}

// Next waits for the source in a goroutine, which lives as long as the handler's own
// source takes for this row.
func (s *interruptible) Next() bool {
	next := make(chan bool, 1)
	go func() { next <- s.CopyFromSource.Next() }()
	select {
	case ok := <-next:
		return ok
	case <-s.ctx.Done():
		s.err = context.Cause(s.ctx)
		return false
	}
}

func (s *interruptible) Err() error {
	if s.err != nil {
		return s.err // the source may still be in use
	}
	return s.CopyFromSource.Err()
}
