package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/idempotent/driver"
)

// A batch is a transaction, or its end, as it is sent: several statements with one
// round trip for all. The last one is an explicit COMMIT. Without one, pgx would
// commit the first statements of a batch if it could not encode a later one.
type batch struct {
	store *Store
	write recordWrite
	queue pgx.Batch

	own       int // the position of the record's write, or -1
	first     int // the position of the handler's first statement
	additions []addition

	// certain reports, after an error of send, that nothing was committed.
	certain bool
}

func newBatch(s *Store, w recordWrite) *batch { return &batch{store: s, write: w, own: -1} }

func (b *batch) addRecord() {
	if b.write.none() {
		return
	}
	st := fenced(b.write.statement)
	b.own = b.queue.Len()
	b.queue.Queue(st.sql, st.args...)
}

func (b *batch) addStatements(additions []addition) {
	b.first, b.additions = b.queue.Len(), additions
	for _, a := range additions {
		b.queue.Queue(a.sql, a.args...)
	}
}

// send sends the batch, and commits.
func (b *batch) send(ctx context.Context, conn *pgx.Conn) error {
	b.queue.Queue("commit")
	if conn.IsClosed() {
		b.certain = true
		return b.notWritten(errClosed)
	}
	results := conn.SendBatch(ctx, &b.queue)
	at, err := b.read(results)
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err == nil {
		return nil
	}
	sql, unsent := unprepared(err)
	if unsent {
		at = slices.IndexFunc(b.queue.QueuedQueries, func(q *pgx.QueuedQuery) bool { return q.SQL == sql })
	}
	b.certain = unsent || isAnswer(err) || errors.Is(err, errRolledBack)
	if b.first > 0 && at == 0 && codeOf(err) == "" && ctx.Err() == nil && !conn.IsClosed() {
		// The BEGIN has no answer: pgx could not encode an argument, and has sent nothing.
		b.certain = true
	}
	switch {
	case !b.certain:
		return b.store.fail(b.write.op, err)
	case at == b.own && raised(err, lostMark):
		return errLost
	case ctx.Err() != nil:
		return b.notWritten(err)
	case at == b.own && codeOf(err) == readOnlyCode && conn.PgConn().ParameterStatus("in_hot_standby") != "on":
		// Not a replica: the handler made its transaction read-only, and would again.
		return &driver.Rejected{Err: transactionError(-1, err)}
	}
	return b.refused(at, err)
}

// errClosed is unavailable.
var errClosed = fmt.Errorf("the server or the network has closed the connection: %w", net.ErrClosed)

var (
	errRolledBack = errors.New("PostgreSQL answered the COMMIT with a ROLLBACK")
	errAnswers    = errors.New("there are more answers than statements; add one statement at a time")
)

// read reads the results, up to the first error, and returns its position.
func (b *batch) read(results pgx.BatchResults) (at int, err error) {
	last := b.queue.Len() - 1
	for at = range last {
		if _, err = results.Exec(); err != nil {
			return at, err
		}
	}
	tag, err := results.Exec()
	switch {
	case err != nil || tag.String() == "COMMIT":
	case tag.String() == "ROLLBACK":
		err = errRolledBack
	default:
		// With the simple protocol, an addition may be several statements, each of which
		// has an answer. This one is then not that of the COMMIT.
		err = errAnswers
	}
	return last, err
}

// refused returns the error for an answer after which nothing is committed.
func (b *batch) refused(at int, err error) error {
	index, isHandlers := at-b.first, at >= b.first && at < b.first+len(b.additions)
	if at == b.queue.Len()-1 { // the COMMIT: deferred constraints are the handler's
		index, isHandlers = -1, true
	}
	switch {
	case isHandlers && isTimeout(err):
		// It would reach its timeout again, for as long as the call has time.
		return &driver.Rejected{Err: transactionError(index, err), Retryable: true}
	case isConflict(err) || isUnavailable(err) && !isBind(err):
		return b.notWritten(err)
	case isHandlers:
		e := transactionError(index, err)
		if index >= 0 && b.additions[index].needs && raised(err, noRowMark) {
			e.Code = CodeNoRow
			return &driver.Rejected{Err: refusal(b.additions[index].failed, e)}
		}
		return &driver.Rejected{Err: e}
	case b.first > 0 && at == 0: // not the BEGIN, but the text of the whole, or an argument
		return &driver.Rejected{Err: transactionError(-1, err)}
	}
	return b.notWritten(err)
}

func (b *batch) notWritten(err error) error { return b.store.notWritten(b.write.op, err) }

// notWritten returns the error of a transaction that is certain not to be committed.
func (s *Store) notWritten(op string, err error) error {
	return &Error{Op: op, Table: s.layout.table, Err: err, Advice: advice(err), notWritten: true}
}
