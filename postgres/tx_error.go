package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrTransaction is the sentinel of [*TransactionError], for errors.Is.
var ErrTransaction = errors.New("postgres: transaction not committed")

// Codes of a [TransactionError] that are not PostgreSQL's.
const (
	CodeInvalid = "Invalid" // an argument that cannot be encoded, or a pgx.QueryRewriter other than pgx's named arguments
	CodeNoRow   = "NoRow"   // a statement of Tx.Require or Tx.Check without a row
	CodeInUse   = "InUse"   // rows, a batch or a statement of the transaction that the handler has left open
	// CodeEnded is for a COMMIT or ROLLBACK of the handler, which is not sent unless it is
	// sent with Conn. If pgx uses the simple protocol, it is also for a text of a batch or
	// of Collect that may contain one behind a semicolon, such as a DO block.
	CodeEnded = "Ended"
)

// A TransactionError reports why a transaction was not committed. Its text contains no
// SQL and no data.
type TransactionError struct {
	// Index is the number of the failed statement among the handler's calls of
	// Tx.Exec, Tx.Require and Tx.Check, from 0. It is -1 for the transaction as a
	// whole, and for one of [Transaction]. Of several statements with the same SQL, an
	// argument that cannot be encoded is reported for the first one.
	Index int
	// Code is PostgreSQL's SQLSTATE, such as "23505", or one of this package's.
	Code string
	// Constraint is the name of the constraint that was violated, or "".
	Constraint string
	// Err is the error of pgx, or the reason. Its text may contain data.
	Err error
}

func (e *TransactionError) Error() string {
	what := "the transaction"
	if e.Index >= 0 {
		what = fmt.Sprintf("statement %d of the transaction", e.Index)
	}
	if e.Constraint != "" {
		return fmt.Sprintf("postgres: %s: %s, constraint %q", what, e.Code, e.Constraint)
	}
	if why := explanation(e.Code); why != "" {
		return fmt.Sprintf("postgres: %s: %s: %s", what, e.Code, why)
	}
	return fmt.Sprintf("postgres: %s: %s", what, e.Code)
}

// SafeText returns the whole text.
func (e *TransactionError) SafeText() string { return e.Error() }

// Is reports whether target is ErrTransaction.
func (e *TransactionError) Is(target error) bool { return target == ErrTransaction }

// Unwrap returns Err.
func (e *TransactionError) Unwrap() error { return e.Err }

// transactionError returns the error for a statement of the handler, or for its
// transaction with the index -1.
func transactionError(index int, err error) *TransactionError {
	e := &TransactionError{Index: index, Code: CodeInvalid, Err: err}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		e.Code, e.Constraint = answer.Code, answer.ConstraintName
	}
	return e
}

func explanation(code string) string {
	switch code {
	case CodeInvalid:
		return "an argument cannot be encoded, or rewrites the statement"
	case CodeNoRow:
		return "it needs a row, and has none"
	case CodeInUse:
		return "rows, a batch or a statement are under way; end them before the handler returns"
	case CodeEnded:
		return "the call ends it; remove the COMMIT or ROLLBACK, and send each statement alone"
	case abortedCode:
		return "an earlier statement failed; return its error from the handler"
	case "40001", "40P01":
		return "it lost a conflict with another transaction; try again"
	case readOnlyCode:
		return "it is read-only, and the call completes in it; remove SET TRANSACTION READ ONLY"
	case "42501":
		return "permission denied; grant the role what the statement needs"
	case "55P03", "57014":
		return "it reached statement_timeout or lock_timeout, or was cancelled; look for what holds the lock, make it faster, or raise the timeout"
	}
	return ""
}

const abortedCode = "25P02"

// refusal returns the error of the call. A function that returns nil must not turn a
// refusal into a success.
func refusal(failed func(*TransactionError) error, e *TransactionError) (err error) {
	if failed == nil {
		return e
	}
	defer func() {
		if p := recover(); p != nil {
			e.Err = errors.Join(fmt.Errorf("its function panicked: %v", p), e.Err)
			err = e
		}
	}()
	if err = failed(e); err == nil {
		return e
	}
	return err
}

// unprepared returns the statement that pgx could not prepare or encode. It has then
// sent none of the batch's statements, or not the last one, the COMMIT.
//
// pgconn.SafeToRetry does not say this: it is also true for a batch that was sent, and
// whose connection was lost before the answer.
func unprepared(err error) (sql string, ok bool) {
	var p pgx.ErrPreprocessingBatch
	if !errors.As(err, &p) {
		return "", false
	}
	return p.SQL(), true
}

// isAnswer reports whether err is the server's own answer to a statement. After it,
// the transaction of the statement is certain not to be committed. A fatal answer ends
// the connection, and may come from something on the way.
func isAnswer(err error) bool {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return false
	}
	severity := answer.SeverityUnlocalized
	if severity == "" {
		severity = answer.Severity
	}
	return severity == "ERROR" && answer.Code != "40003" && (answer.Code[:min(2, len(answer.Code))] != "08" || isBind(err))
}

// isBind reports whether PostgreSQL refused the number of arguments. Its code is that of
// a broken connection, which poolers use, too; but they name no routine.
func isBind(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == "08P01" && answer.Routine == "exec_bind_message"
}
