package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
)

// Transaction returns the open transaction of the call that ctx belongs to, the same
// one each time. The first use takes a connection from the store's pool and begins the
// transaction, which holds the connection until the call ends.
//
// The call completes within the transaction: its record's write is the last statement
// before the COMMIT, and the two are sent together when the handler has returned nil. If
// the handler fails, or the record is no longer the call's, everything is rolled back. The
// [pgx.Tx] refuses Commit and Rollback with [*OwnedError]; those of a savepoint, from its
// Begin, work. As any pgx.Tx it is for one goroutine at a time. After the handler has
// returned, its methods return [pgx.ErrTxClosed].
//
// One connection of the pool is left to steps, heartbeats and other writes of records.
// So a store on a pool with MaxConns of 10 has at most 9 transactions open, and the next one
// waits. Stores count apart, so share one store among the executors of a pool. A transaction
// in a nested call needs a third connection. With MaxConns of 1, a transaction is possible. Steps within it do not run, calls within it are refused with
// a [*PoolError], and a lease that a heartbeat would have to extend ends.
//
// If a handler also takes connections of the store's pool by itself, give the store a pool
// of its own. A handler that must not hold a connection while it runs uses [Collect].
//
// A conflict of transactions (40001, 40P01) and a timeout (55P03, 57014) at the
// COMMIT do not count as an attempt, because nothing was done. If a statement of the
// handler meets one, and the handler has no effect elsewhere, return idempotent.Retryable
// of its error, which is pgx's.
//
// Under REPEATABLE READ and SERIALIZABLE, the commit fails with 40001 if the record was
// written after the transaction's first statement: by a step of the call, or by its
// heartbeat. There, run steps before the transaction, and choose an idempotent.Config.Lease
// of more than three times the handler's time.
//
// Transaction returns an [*Error] if it gets no connection; it wraps a [*PoolError] if other
// transactions have them. It panics outside of a call, under idempotent.Unprotected, if the
// call's store is not a [*Store], within a step or its undo function, and in a call that
// uses Collect.
func Transaction(ctx context.Context) (pgx.Tx, error) {
	h := driver.Attach(ctx, newOpenTx)
	call := driver.CallOf(ctx)
	s, ok := call.Store().(*Store)
	if !ok {
		panic("postgres: Transaction in a call whose store is not a *postgres.Store, or wraps one: it would take no connection of that store's pool")
	}
	return h.begin(ctx, s, call.InvocationEnd())
}

// An OwnedError reports that the handler tried to end the transaction of its call. The
// transaction is unchanged. Return nil to commit it, or an error to roll it back.
type OwnedError struct{ Method string }

func (e *OwnedError) Error() string {
	return "postgres: " + e.Method + " of the call's own transaction: the call ends it when the handler has returned; return nil to commit, or an error to roll back"
}

// SafeText returns the whole text.
func (e *OwnedError) SafeText() string { return e.Error() }

// An openTx is the open transaction of a call, with its connection.
type openTx struct {
	mu     sync.Mutex
	store  *Store
	conn   *pgxpool.Conn // within the limit of the store; nil before the first use and when it is freed
	tx     pgx.Tx        // of conn
	openIn atomic.Pointer[Store]
	frozen bool

	mistake error // the first

	sent      bool
	committed bool  // known to be
	lost      error // why that is not known

	ended context.Context // with the call
	end   context.CancelFunc
	past  func() // lets go of the context of the last statement
}

var (
	_ attachment       = (*openTx)(nil)
	_ driver.Discarder = (*openTx)(nil)
	_ driver.Exclusive = (*openTx)(nil)
)

func newOpenTx() *openTx {
	h := &openTx{past: func() {}}
	h.ended, h.end = context.WithCancel(context.Background())
	return h
}

// during returns a context for a statement that ends with ctx or with the call. It lets go
// of the one before, so that a call of many statements keeps one. While its rows are open
// the connection is busy, and pgx refuses the statement without sending it.
func (h *openTx) during(ctx context.Context) context.Context {
	if h.conn != nil && h.conn.Conn().PgConn().IsBusy() {
		return ctx
	}
	h.past()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.ended, func() { cancel(pgx.ErrTxClosed) })
	h.past = func() { stop(); cancel(nil) }
	return ctx
}

// lock locks the transaction when the handler has returned. It interrupts the statement
// of a goroutine that the handler has left behind: it may wait for ever, for a lock.
func (h *openTx) lock() {
	if h.mu.TryLock() {
		return
	}
	h.end()
	h.mu.Lock()
	if h.mistake == nil {
		h.mistake = &TransactionError{Index: -1, Code: CodeInUse}
	}
}

func (h *openTx) begin(ctx context.Context, s *Store, invocationEnd time.Time) (pgx.Tx, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.frozen {
		return nil, pgx.ErrTxClosed
	}
	if h.conn == nil {
		if err := h.open(h.during(ctx), s, s.around(ctx), invocationEnd); err != nil {
			return nil, s.fail("Transaction", err)
		}
	}
	return &handle{transaction: h, tx: h.tx}, nil
}

// open begins the transaction. The hooks and the tracer of the pool may panic.
func (h *openTx) open(ctx context.Context, s *Store, around []*openTx, invocationEnd time.Time) (err error) {
	if err := s.limit.acquire(ctx, around); err != nil {
		return err
	}
	var conn *pgxpool.Conn
	defer func() {
		if h.conn != nil {
			return
		}
		if conn != nil {
			release(conn)
		}
		s.limit.release()
	}()
	if conn, err = s.db.Acquire(ctx); err != nil {
		return err
	}
	tx, err := beginTransaction(ctx, conn.Conn(), s.layout.transactionTimeout(invocationEnd, time.Now()))
	if err != nil {
		return err
	}
	h.store, h.conn, h.tx = s, conn, tx
	h.openIn.Store(s)
	return nil
}

// Exclusive returns why a step could not be stored, as [driver.Exclusive] requires.
func (h *openTx) Exclusive() string {
	s := h.openIn.Load()
	if s == nil || s.limit == nil || s.limit.maxConns > 1 {
		return ""
	}
	return "the transaction holds the only connection of its pool; raise MaxConns, or run steps before postgres.Transaction"
}

// Freeze ends the use by the handler, as [driver.Attachment] requires. A transaction that
// cannot be committed any more fails the call as an error of the handler: the statement
// that failed has had its own error, which the handler has not returned.
func (h *openTx) Freeze() (empty bool, err error) {
	h.lock()
	defer h.mu.Unlock()
	h.frozen = true
	switch {
	case h.conn == nil:
		return true, h.mistake
	case h.mistake != nil:
		return false, h.mistake
	}
	conn := h.conn.Conn().PgConn()
	switch {
	case conn.IsClosed():
		return false, nil // whatever closed it: the commit reports it, and nothing was written
	case conn.IsBusy():
		return false, &TransactionError{Index: -1, Code: CodeInUse}
	case conn.TxStatus() == 'E':
		return false, &TransactionError{Index: -1, Code: abortedCode}
	case conn.TxStatus() == 'I':
		return false, &TransactionError{Index: -1, Code: CodeEnded}
	}
	return false, nil
}

// Discard rolls back an uncommitted transaction, and frees the connection, as
// [driver.Discarder] requires.
func (h *openTx) Discard() {
	h.lock()
	defer h.mu.Unlock()
	h.end()
	h.frozen = true
	h.free()
}

func (h *openTx) free() {
	if h.conn != nil {
		release(h.conn)
		h.conn, h.tx = nil, nil
		h.openIn.Store(nil)
		h.store.limit.release()
	}
}
