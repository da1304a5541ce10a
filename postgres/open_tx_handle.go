package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// A handle is the pgx.Tx that a handler gets, or one of a savepoint in it. Its methods
// wait for each other and for the end of the call: otherwise a goroutine that the handler
// has left behind could run a statement on a connection that serves the next call.
type handle struct {
	transaction *openTx
	tx          pgx.Tx
	savepoint   bool
}

var _ pgx.Tx = (*handle)(nil)

// open locks the transaction, and returns why the handler may not use it any more. The
// caller unlocks it in either case. The context it returns also ends with the call.
func (h *handle) open(ctx context.Context) (context.Context, error) {
	h.transaction.mu.Lock()
	switch {
	case h.transaction.frozen:
		return ctx, pgx.ErrTxClosed
	case h.transaction.conn.Conn().PgConn().TxStatus() == 'I':
		// The next statement would be committed at once, without the call.
		return ctx, &TransactionError{Index: -1, Code: CodeEnded}
	}
	return h.transaction.during(ctx), nil
}

// statement locks the transaction as open does, and returns why a statement is not sent.
func (h *handle) statement(ctx context.Context, sql string, args ...any) (context.Context, error) {
	ctx, err := h.open(ctx)
	if err == nil {
		err = h.check(sql, args)
	}
	return ctx, err
}

// check refuses a statement that ends the transaction, or may do so once it is rewritten.
func (h *handle) check(sql string, args []any) error {
	if endsTransaction(sql) {
		return h.refuseEnd()
	}
	if err := checkRewriters(-1, args); err != nil {
		return err
	}
	return nil
}

// refuseEnd fails the call for a command that is not sent, because it ends the transaction.
func (h *handle) refuseEnd() error {
	ended := &TransactionError{Index: -1, Code: CodeEnded}
	if h.transaction.mistake == nil {
		h.transaction.mistake = ended
	}
	return ended
}

func (h *handle) unlock() { h.transaction.mu.Unlock() }

// Begin sets a savepoint.
func (h *handle) Begin(ctx context.Context) (pgx.Tx, error) {
	defer h.unlock()
	ctx, err := h.open(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := h.tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &handle{transaction: h.transaction, tx: tx, savepoint: true}, nil
}

// Commit releases a savepoint. It returns an [*OwnedError] for the transaction.
func (h *handle) Commit(ctx context.Context) error {
	return h.end(ctx, "Commit", h.tx.Commit)
}

// Rollback rolls back to a savepoint. It returns an [*OwnedError] for the transaction.
func (h *handle) Rollback(ctx context.Context) error {
	return h.end(ctx, "Rollback", h.tx.Rollback)
}

func (h *handle) end(ctx context.Context, method string, savepoint func(context.Context) error) error {
	defer h.unlock()
	ctx, err := h.open(ctx)
	switch {
	case err != nil:
		return err
	case !h.savepoint:
		return &OwnedError{Method: method}
	}
	return savepoint(ctx)
}

func (h *handle) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, source pgx.CopyFromSource) (int64, error) {
	defer h.unlock()
	ctx, err := h.open(ctx)
	if err != nil {
		return 0, err
	}
	return h.tx.CopyFrom(ctx, table, columns, &interruptible{source: source, ended: h.transaction.ended.Done()})
}

func (h *handle) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	defer h.unlock()
	ctx, err := h.open(ctx)
	for _, q := range b.QueuedQueries {
		if err == nil {
			err = h.check(q.SQL, q.Arguments)
		}
		if err == nil && mayEndTransaction(q.SQL) && isSimple(h.tx.Conn()) {
			err = h.refuseEnd()
		}
	}
	if err != nil {
		return closed{err}
	}
	return h.tx.SendBatch(ctx, b)
}

// LargeObjects returns large objects whose calls are not checked: they must not be used
// after the handler has returned. Then it returns the zero LargeObjects.
func (h *handle) LargeObjects() pgx.LargeObjects {
	h.transaction.mu.Lock()
	defer h.unlock()
	if h.transaction.frozen {
		return pgx.LargeObjects{}
	}
	return h.tx.LargeObjects()
}

func (h *handle) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	defer h.unlock()
	ctx, err := h.statement(ctx, sql)
	if err != nil {
		return nil, err
	}
	return h.tx.Prepare(ctx, name, sql)
}

func (h *handle) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	defer h.unlock()
	ctx, err := h.statement(ctx, sql, args...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	if !mayEndTransaction(sql) {
		return h.tx.Exec(ctx, sql, args...)
	}
	rows, err := h.tx.Query(ctx, sql, extended(h.tx.Conn(), sql, args)...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	rows.Close()
	return rows.CommandTag(), rows.Err()
}

func (h *handle) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	defer h.unlock()
	ctx, err := h.statement(ctx, sql, args...)
	if err != nil {
		return closed{err}.Query()
	}
	return h.tx.Query(ctx, sql, extended(h.tx.Conn(), sql, args)...)
}

func (h *handle) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	defer h.unlock()
	ctx, err := h.statement(ctx, sql, args...)
	if err != nil {
		return closed{err}.QueryRow()
	}
	return h.tx.QueryRow(ctx, sql, extended(h.tx.Conn(), sql, args)...)
}

// Conn returns the connection, or nil after the handler has returned. Statements that are
// sent with it directly are not checked: a COMMIT commits without the record.
func (h *handle) Conn() *pgx.Conn {
	h.transaction.mu.Lock()
	defer h.unlock()
	if h.transaction.frozen {
		return nil
	}
	return h.tx.Conn()
}

// closed is the result of each statement after the end of the transaction.
type closed struct{ err error }

func (c closed) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, c.err }
func (c closed) Query() (pgx.Rows, error)         { return closedRows(c), c.err }
func (c closed) QueryRow() pgx.Row                { return closedRows(c) }
func (c closed) Close() error                     { return c.err }
func (closed) Tx() pgx.Tx                         { return nil }

type closedRows struct{ err error }

func (closedRows) Close()                                       {}
func (r closedRows) Err() error                                 { return r.err }
func (closedRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (closedRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (closedRows) Next() bool                                   { return false }
func (r closedRows) Scan(...any) error                          { return r.err }
func (r closedRows) Values() ([]any, error)                     { return nil, r.err }
func (closedRows) RawValues() [][]byte                          { return nil }
func (closedRows) Conn() *pgx.Conn                              { return nil }
func (closedRows) TypeMap() *pgtype.Map                         { return nil }
