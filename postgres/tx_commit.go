package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent/driver"
)

var (
	errNotFrozen = errors.New("the transaction is not frozen; its handler may still add to it")
	errDoubtful  = errors.New("it was sent, and its answer was lost; whether it was committed is not known, and another try could commit it twice")
)

// commit sends the whole transaction in one round trip.
//
// The record's write is the first statement: if its condition does not hold, the
// handler's statements do not matter, because an earlier copy of this request may have
// run them. It also makes it safe to send the request again.
func (t *collected) commit(ctx context.Context, s *Store, w recordWrite) (row, error) {
	t.mu.Lock()
	frozen, doubtful, alone := t.frozen, t.doubtful, t.alone
	t.mu.Unlock()
	switch {
	case !frozen:
		return row{}, s.refused(w.op, errNotFrozen)
	case w.none() && alone:
		return row{}, nil
	case doubtful && (w.none() || !w.until.IsZero() && !time.Now().Before(w.until)):
		return row{}, s.fail(w.op, errDoubtful)
	}
	if err := s.spare(ctx); err != nil {
		return row{}, s.notWritten(w.op, err)
	}
	// Within a transaction of the store, it uses the connection that is left to records: it
	// is short, and the transaction would otherwise wait for its own end.
	if len(s.around(ctx)) == 0 {
		if err := s.limit.acquire(ctx, nil); err != nil {
			return row{}, s.notWritten(w.op, err)
		}
		defer s.limit.release()
	}
	conn, err := s.db.Acquire(ctx)
	if err != nil {
		return row{}, s.notWritten(w.op, err)
	}
	defer release(conn)
	statements, err := t.checked(conn.Conn())
	if err != nil {
		return row{}, &driver.Rejected{Err: err}
	}
	b := newBatch(s, w)
	b.queue.Queue("begin")
	b.addRecord()
	b.addStatements(statements)
	err = b.send(ctx, conn.Conn())
	var r row
	if errors.Is(err, errLost) {
		r = s.met(ctx, conn.Conn(), w.id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alone = t.alone || err == nil && w.none()
	t.doubtful = t.doubtful || err != nil && !b.certain
	return r, err
}

// checked returns the statements as they are sent, unless one ends the transaction.
func (t *collected) checked(conn *pgx.Conn) ([]addition, error) {
	all := slices.Clone(t.statements)
	for i := range all {
		a := &all[i]
		if mayEndTransaction(a.sql) && isSimple(conn) {
			return nil, &TransactionError{Index: i, Code: CodeEnded}
		}
		if a.needs {
			a.sql = required(bare(a.sql) + a.returning)
		}
	}
	return all, nil
}

// met rolls a failed transaction back, and returns the record that its write has met. If
// that fails, or takes too long, met returns no record, and the caller reads it on a new
// connection.
func (s *Store) met(ctx context.Context, conn *pgx.Conn, id string) row {
	ctx, cancel := context.WithTimeout(ctx, rollbackTimeout)
	defer cancel()
	r, err := s.undo(ctx, conn, "rollback", id)
	if err != nil {
		return row{}
	}
	return r
}

// undo sends a ROLLBACK and reads a record after it, in one round trip. PostgreSQL runs
// the two in turn. pgx would prepare the second one before, which a failed transaction
// refuses.
func (s *Store) undo(ctx context.Context, conn *pgx.Conn, rollback, id string) (r row, err error) {
	var b pgconn.Batch
	b.ExecParams(rollback, nil, nil, nil, nil)
	b.ExecParams(s.layout.read(id).sql, [][]byte{[]byte(encodeText(id))}, nil, nil, []int16{pgx.BinaryFormatCode})
	results := conn.PgConn().ExecBatch(ctx, &b)
	for results.NextResult() {
		r, _, err = oneRow(pgx.RowsFromResultReader(conn.TypeMap(), results.ResultReader()))
	}
	return r, cmp.Or(results.Close(), err)
}

// rollbackTimeout limits the rollback on a connection whose call has ended. A
// connection that does not answer is closed.
const rollbackTimeout = time.Second

// release returns a connection to its pool. It rolls an open transaction back, because
// the pool would close the connection, and a refusal by a statement of the handler is
// nothing unusual.
func release(conn *pgxpool.Conn) {
	if c := conn.Conn(); !c.IsClosed() && !c.PgConn().IsBusy() && c.PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
		defer cancel()
		// If this fails, Release closes the connection.
		_, _ = c.Exec(ctx, "rollback")
	}
	conn.Release()
}
