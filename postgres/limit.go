package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
)

// A limit bounds how many transactions a store has open at a time. It leaves one connection
// of the pool to the writes of records. Otherwise transactions would hold all connections
// while their steps wait for one, and a heartbeat would wait behind new transactions until
// the lease is lost.
//
// The nil limit of a DB whose size is not known bounds nothing.
type limit struct {
	maxConns int           // of the pool
	open     chan struct{} // has an element for each open transaction

	mu     sync.Mutex
	queued int             // calls that wait
	stuck  map[*openTx]int // the open transactions around these calls, with their number
}

func limitOf(db DB) *limit {
	sized, ok := db.(interface{ Stat() *pgxpool.Stat })
	if !ok {
		return nil
	}
	maxConns := int(sized.Stat().MaxConns())
	// With one connection, a transaction has to do without steps and heartbeats.
	return &limit{maxConns: maxConns, open: make(chan struct{}, max(maxConns-1, 1)), stuck: make(map[*openTx]int)}
}

// acquire waits until a transaction may be opened, in the order of the calls. around are the
// store's open transactions around it. acquire returns a [*PoolError] if ctx ends before, or
// if all open transactions wait for a further one: none of them would end.
func (l *limit) acquire(ctx context.Context, around []*openTx) error {
	if l == nil {
		return nil
	}
	select {
	case l.open <- struct{}{}:
		return nil
	default:
	}
	defer l.wait(around, -1)
	if stuck := l.wait(around, 1); stuck >= cap(l.open) && len(around) > 0 {
		return &PoolError{MaxConns: l.maxConns}
	}
	select {
	case l.open <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &PoolError{MaxConns: l.maxConns, Err: context.Cause(ctx)}
	}
}

// wait counts a call that begins or ends to wait, and returns how many open transactions
// wait for such calls.
func (l *limit) wait(around []*openTx, calls int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queued += calls
	for _, h := range around {
		if l.stuck[h] += calls; l.stuck[h] == 0 {
			delete(l.stuck, h)
		}
	}
	return len(l.stuck)
}

// release ends a transaction, and lets the next one begin.
func (l *limit) release() {
	if l != nil {
		<-l.open
	}
}

// around returns the open transactions of s around the call that ctx belongs to, its own
// included.
func (s *Store) around(ctx context.Context) (open []*openTx) {
	call := driver.CallOf(ctx)
	if call == nil {
		return nil
	}
	for _, a := range call.Attached() {
		if h, ok := a.(*openTx); ok && h.openIn.Load() == s {
			open = append(open, h)
		}
	}
	return open
}

// spare returns a [*PoolError] if a statement of the call that ctx belongs to would wait for
// the only connection, which a transaction around it holds.
func (s *Store) spare(ctx context.Context) error {
	if s.limit == nil || s.limit.maxConns > 1 || len(s.around(ctx)) == 0 {
		return nil
	}
	return &PoolError{MaxConns: s.limit.maxConns}
}
