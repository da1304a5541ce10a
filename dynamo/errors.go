package dynamo

import (
	"errors"
	"fmt"

	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/idempotent/driver"
)

// An Error reports that a call to DynamoDB failed, or was refused before it was
// sent. It is [driver.ErrUnavailable] if the call did not reach DynamoDB or found
// it too busy, and [driver.ErrThrottled] as well if DynamoDB throttled it. It is
// [driver.ErrTooLarge] if an item would exceed DynamoDB's limit, and
// [driver.ErrDenied] if the role lacks a permission. Its text contains no keys
// and no data.
type Error struct {
	Op    string // the call, such as "PutItem"
	Table string // the store's
	// Tables are the tables of a transaction, sorted: those of the record and of
	// the handler's writes and checks, and the outbox. It is nil for single writes and reads.
	Tables []string
	Advice string // the next step for the reader, or "" if none is known
	Err    error  // of the SDK, or about a stored item

	notWritten bool
}

var errItemSize = errors.New("DynamoDB allows items of at most 400 KB")

func (e *Error) Error() string {
	on, advice := fmt.Sprintf("table %q", e.Table), e.Advice
	if len(e.Tables) == 1 {
		on = fmt.Sprintf("table %q", e.Tables[0])
	} else if len(e.Tables) > 1 {
		on = fmt.Sprintf("tables %q", e.Tables)
	}
	if advice != "" {
		advice += ": "
	}
	return fmt.Sprintf("dynamo: %s on %s: %s%v", e.Op, on, advice, e.Err)
}

// SafeText returns the whole text.
func (e *Error) SafeText() string { return e.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is one of [driver.ErrUnavailable],
// [driver.ErrThrottled], [driver.ErrNotWritten], [driver.ErrTooLarge] and
// [driver.ErrDenied] that applies.
func (e *Error) Is(target error) bool {
	switch target {
	case driver.ErrUnavailable:
		unavailable, _ := e.busy()
		return unavailable
	case driver.ErrThrottled:
		_, throttled := e.busy()
		return throttled
	case driver.ErrNotWritten:
		return e.notWritten
	case driver.ErrTooLarge:
		return errors.Is(e.Err, errItemSize) || fault.TooLarge(e.Err)
	case driver.ErrDenied:
		return fault.Denied(e.Err)
	}
	return false
}

// refused returns the error of a call that is not sent.
func (s *Store) refused(op string, err error) error {
	return &Error{Op: op, Table: s.table, Err: err}
}

// fail returns the error of a call that was sent.
func (s *Store) fail(op string, err error) *Error {
	return &Error{Op: op, Table: s.table, Err: err, Advice: fault.Advice(err, s.format.Attr.ID, s.format.Attr.SortKey)}
}

// busy reports whether DynamoDB could not be reached or was too busy, and
// whether it throttled the call. Of a transaction its code says so.
func (e *Error) busy() (unavailable, throttled bool) {
	var t *TransactionError
	if !errors.As(e.Err, &t) {
		unavailable = fault.Unavailable(e.Err)
		return unavailable, unavailable && fault.Throttled(e.Err)
	}
	throttled = t.Code == codeThrottled || t.Code == codeThroughput
	return throttled || t.Code == CodeConflict || t.Code == codeInProgress, throttled
}
