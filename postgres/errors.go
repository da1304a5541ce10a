package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lambda-once/once/idempotent/driver"
)

// An Error reports that a call to PostgreSQL failed, or was refused before it was
// sent. It is [driver.ErrUnavailable] if the call did not reach the server or found it
// too busy, and [driver.ErrThrottled] as well if a limit of the server was reached. It
// is [driver.ErrNotWritten] after a conflict of transactions and from a server that is
// read-only, and [driver.ErrTooLarge] if steps do not fit into the record. Its text
// contains no keys and no data.
type Error struct {
	Op     string // the call, such as "Create"
	Table  string // the store's, quoted
	Advice string // the next step for the reader, or "" if none is known
	Err    error  // of pgx, or about a stored row

	notWritten bool
}

func (e *Error) Error() string {
	if e.Advice == "" {
		return fmt.Sprintf("postgres: %s on table %s: %v", e.Op, e.Table, e.Err)
	}
	return fmt.Sprintf("postgres: %s on table %s: %s: %v", e.Op, e.Table, e.Advice, e.Err)
}

// SafeText returns the whole text.
func (e *Error) SafeText() string { return e.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is one of [driver.ErrUnavailable],
// [driver.ErrThrottled], [driver.ErrDenied], [driver.ErrNotWritten] and
// [driver.ErrTooLarge] that applies.
func (e *Error) Is(target error) bool {
	switch target {
	case driver.ErrUnavailable:
		return isUnavailable(e.Err)
	case driver.ErrThrottled:
		return isUnavailable(e.Err) && strings.HasPrefix(codeOf(e.Err), "53")
	case driver.ErrNotWritten:
		return e.notWritten || isConflict(e.Err) || codeOf(e.Err) == readOnlyCode
	case driver.ErrDenied:
		return codeOf(e.Err) == "42501"
	case driver.ErrTooLarge:
		var size *sizeError
		return errors.As(e.Err, &size)
	}
	return false
}

// refused returns the error of a call that is not sent.
func (s *Store) refused(op string, err error) error {
	return &Error{Op: op, Table: s.layout.table, Err: err}
}

func (s *Store) fail(op string, err error) error {
	return &Error{Op: op, Table: s.layout.table, Err: err, Advice: advice(err)}
}

// A PoolError reports that there is no connection for a call in a pool of MaxConns. One
// connection of a pool is left to the writes of records; transactions share the rest.
//
// Without Err, waiting would not help: the transactions around the call hold all that there
// is, and none of them would end. Raise the MaxConns of the pool, or end the transaction
// before a step or a nested call begins. With Err, no transaction ended in time.
type PoolError struct {
	MaxConns int
	Err      error // why the call did not wait any longer, or nil
}

func (e *PoolError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("all transactions of a pool with MaxConns of %d are in use: %v", e.MaxConns, e.Err)
	}
	return fmt.Sprintf("open transactions around this call hold the connections of a pool with MaxConns of %d", e.MaxConns)
}

// SafeText returns the whole text.
func (e *PoolError) SafeText() string { return e.Error() }

// Unwrap returns Err.
func (e *PoolError) Unwrap() error { return e.Err }

// A sizeError reports that steps or a request do not fit.
type sizeError struct {
	what        string
	size, limit int
}

func (e *sizeError) Error() string {
	return fmt.Sprintf("%s would have %d bytes, and Options.MaxSize is %d", e.what, e.size, e.limit)
}

// codeOf returns the SQLSTATE of the server's answer, or "".
func codeOf(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Code
	}
	return ""
}

// isTooLarge reports whether the server refused a value for its size: Aurora DSQL
// has limits of its own.
func isTooLarge(err error) bool { return codeOf(err) == "54000" }

// isConflict reports whether the server undid a write because of a concurrent one.
func isConflict(err error) bool {
	code := codeOf(err)
	return code == "40001" || code == "40P01"
}

// isTimeout reports whether the server cancelled a statement: at lock_timeout or
// statement_timeout, for a lock that it must not wait for, or because a person did.
func isTimeout(err error) bool {
	code := codeOf(err)
	return code == "55P03" || code == "57014"
}

// isUnavailable reports whether a call did not reach the server, or found it too
// busy. A refusal would be the same again.
func isUnavailable(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false // the caller gave up, which says nothing about the server
	case errors.Is(err, context.DeadlineExceeded):
		return true
	}
	if code := codeOf(err); code != "" {
		return isUnavailableCode(code)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// readOnlyCode is that of a server that is a replica, or became one.
const readOnlyCode = "25006"

func isUnavailableCode(code string) bool {
	switch code {
	case "40001", "40P01", // a conflict
		readOnlyCode,
		"25P03", "25P04", // idle_in_transaction_session_timeout, transaction_timeout
		"55P03", "57014", // lock_timeout, statement_timeout
		"57P01", "57P02", "57P03", "57P05": // the server stops, or starts
		return true
	}
	switch code[:min(len(code), 2)] {
	case "08", "53", "58": // the connection, resources, the operating system
		return true
	}
	return false
}
