package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lambda-once/once/idempotent/driver"
)

var _ driver.Transactional = (*Store)(nil)

// An attachment is a [*Tx], or the open transaction of [Transaction].
type attachment interface {
	driver.Attachment
	// commit commits the attachment and the record's write, if there is one. It
	// returns errLost if the condition of the write does not hold, and may return the
	// record as stored with it, and only then. After errLost and a *driver.Rejected,
	// nothing was written.
	commit(ctx context.Context, s *Store, w recordWrite) (row, error)
}

// A recordWrite is the record's part of a transaction.
type recordWrite struct {
	op string
	id string
	statement
	// owner is that of a record to create. A claim of it may have landed before,
	// although its answer was lost; "" for other writes.
	owner string
	// until is the time until which the write fences a repetition of itself; zero
	// is for ever.
	until time.Time
}

func (w recordWrite) none() bool { return w.sql == "" }

// errLost reports that the condition of the record's write does not hold.
var errLost = errors.New("the condition on the record does not hold")

// Commit commits a transaction alone, for a call that runs without a record, as
// [driver.Transactional] requires.
func (s *Store) Commit(ctx context.Context, id string, with any) error {
	if id == "" {
		return s.refused("Commit", &driver.InvalidWriteError{Reason: "a record needs an id"})
	}
	a, err := attachmentOf(with)
	if err == nil && a == nil {
		err = &driver.InvalidWriteError{Reason: "there is no transaction"}
	}
	if err != nil {
		return s.refused("Commit", err)
	}
	_, _, err = s.commit(ctx, a, recordWrite{op: "Commit", id: id})
	return err
}

// commit commits an attachment. If the condition on the record does not hold, it
// returns the record as stored.
func (s *Store) commit(ctx context.Context, a attachment, w recordWrite) (row, bool, error) {
	if err := ctx.Err(); err != nil {
		return row{}, false, s.notWritten(w.op, err)
	}
	r, err := a.commit(ctx, s, w)
	if !errors.Is(err, errLost) {
		return r, err == nil, err
	}
	if r.Status != driver.Absent {
		return r, false, nil
	}
	met, err := s.Get(ctx, w.id)
	return row{Record: met}, false, err
}

// attachmentOf returns nil without one.
func attachmentOf(with any) (attachment, error) {
	switch a := with.(type) {
	case nil:
		return nil, nil
	case attachment:
		return a, nil
	}
	return nil, &driver.InvalidWriteError{Reason: fmt.Sprintf("a store in PostgreSQL cannot commit a %T together with a record", with)}
}

// The marks are in the texts of errors that the statements below raise. Only these
// statements have them.
const (
	lostMark  = "once: the call does not own the record, rows "
	noRowMark = "once: no row was affected, rows "
)

// raise returns an expression that fails with the mark if it is evaluated. It depends
// on a count so that the planner does not evaluate it, and uses a cast because
// anonymous code and functions are not available everywhere.
func raise(mark string) string { return "CAST('" + mark + "' || count(*) AS integer)" }

// raised reports whether err is one of raise.
func raised(err error, mark string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == "22P02" && strings.Contains(answer.Message, mark)
}

// fenced returns the statement that makes the write st, and fails if its condition
// does not hold. A COMMIT that was sent with it is then not executed.
func fenced(st statement) statement {
	return statement{orFail(st.sql+" RETURNING 1", lostMark), st.args}
}

// required returns a statement that fails if sql, which is bare, returns no row. The
// line break ends a comment at the end of sql.
func required(sql string) string { return orFail(sql+"\n", noRowMark) }

func orFail(sql, mark string) string {
	return "WITH affected AS (" + sql + ") SELECT CASE WHEN count(*) > 0 THEN 1 ELSE " + raise(mark) + " END FROM affected"
}

// bare returns sql as a part of a larger statement.
func bare(sql string) string { return strings.TrimRight(sql, "; \t\r\n") }
