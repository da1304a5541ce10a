package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// A handle is the pgx.Tx that a handler gets, or one of a savepoint in it. Its methods
// wait for each other and for the end of the call: otherwise a goroutine that the handler
// has left behind could run a statement on a connection that serves another call.
type handle struct {
	held      *held
	tx        pgx.Tx
	savepoint bool
}

var _ pgx.Tx = (*handle)(nil)

// open locks the transaction, and reports whether the handler may still use it. The
// caller unlocks it in either case.
func (h *handle) open() bool {
	h.held.mu.Lock()
	return !h.held.frozen
}

func (h *handle) unlock() { h.held.mu.Unlock() }

// Begin sets a savepoint.
func (h *handle) Begin(ctx context.Context) (pgx.Tx, error) {
	defer h.unlock()
	if !h.open() {
		return nil, pgx.ErrTxClosed
	}
	tx, err := h.tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &handle{held: h.held, tx: tx, savepoint: true}, nil
}

// Commit releases a savepoint. It returns an [*OwnedError] for the transaction.
func (h *handle) Commit(ctx context.Context) error {
	return h.end("Commit", func() error { return h.tx.Commit(ctx) })
}

// Rollback rolls back to a savepoint. It returns an [*OwnedError] for the transaction.
func (h *handle) Rollback(ctx context.Context) error {
	return h.end("Rollback", func() error { return h.tx.Rollback(ctx) })
}

func (h *handle) end(method string, savepoint func() error) error {
	defer h.unlock()
	switch open := h.open(); {
	case !open:
		return pgx.ErrTxClosed
	case !h.savepoint:
		return &OwnedError{Method: method}
	}
	return savepoint()
}

func (h *handle) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, source pgx.CopyFromSource) (int64, error) {
	defer h.unlock()
	if !h.open() {
		return 0, pgx.ErrTxClosed
	}
	return h.tx.CopyFrom(ctx, table, columns, source)
}

func (h *handle) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	defer h.unlock()
	if !h.open() {
		return closed{}
	}
	return h.tx.SendBatch(ctx, b)
}

// LargeObjects returns large objects whose calls are not checked.
func (h *handle) LargeObjects() pgx.LargeObjects {
	defer h.unlock()
	if !h.open() {
		return pgx.LargeObjects{}
	}
	return h.tx.LargeObjects()
}

func (h *handle) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	defer h.unlock()
	if !h.open() {
		return nil, pgx.ErrTxClosed
	}
	return h.tx.Prepare(ctx, name, sql)
}

func (h *handle) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	defer h.unlock()
	if !h.open() {
		return pgconn.CommandTag{}, pgx.ErrTxClosed
	}
	return h.tx.Exec(ctx, sql, args...)
}

func (h *handle) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	defer h.unlock()
	if !h.open() {
		return closed{}.Query()
	}
	return h.tx.Query(ctx, sql, args...)
}

func (h *handle) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	defer h.unlock()
	if !h.open() {
		return closed{}.QueryRow()
	}
	return h.tx.QueryRow(ctx, sql, args...)
}

// Conn returns the connection, or nil after the handler has returned. Statements that are
// sent with it directly are not checked.
func (h *handle) Conn() *pgx.Conn {
	defer h.unlock()
	if !h.open() {
		return nil
	}
	return h.tx.Conn()
}

// closed is what a transaction returns after its end.
type closed struct{}

func (closed) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, pgx.ErrTxClosed }
func (closed) Query() (pgx.Rows, error)         { return closedRows{}, pgx.ErrTxClosed }
func (closed) QueryRow() pgx.Row                { return closedRows{} }
func (closed) Close() error                     { return pgx.ErrTxClosed }
func (closed) Tx() pgx.Tx                       { return nil }

type closedRows struct{}

func (closedRows) Close()                                       {}
func (closedRows) Err() error                                   { return pgx.ErrTxClosed }
func (closedRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (closedRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (closedRows) Next() bool                                   { return false }
func (closedRows) Scan(...any) error                            { return pgx.ErrTxClosed }
func (closedRows) Values() ([]any, error)                       { return nil, pgx.ErrTxClosed }
func (closedRows) RawValues() [][]byte                          { return nil }
func (closedRows) Conn() *pgx.Conn                              { return nil }
func (closedRows) TypeMap() *pgtype.Map                         { return nil }
