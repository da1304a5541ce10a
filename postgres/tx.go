package postgres

import (
	"context"
	"slices"
	"sync"

	"github.com/lambda-once/once/idempotent/driver"
)

// A Tx collects statements that are run together with the completion of a call, in
// one transaction and one round trip. [Collect] returns the Tx of a call.
//
// Nothing is sent before the handler returns nil, and no connection is held until
// then. The call succeeds if the transaction does. If a statement fails, the call
// fails with a [*TransactionError], as if the handler had returned it. Of a
// statement added with [Tx.Require] or [Tx.Check], the handler chooses the error.
//
// A transaction that loses a conflict is sent again as a whole, while the call has
// time. So a statement must not depend on values that the handler has read before,
// except through a Check. A statement that reaches statement_timeout or
// lock_timeout is not sent again: the call fails with its [*TransactionError], which
// does not count as an attempt. A try ends after half of the time left, and at most five
// seconds, so that a connection that hangs leaves time for a new one. A longer
// statement_timeout has no effect here: slow statements belong in [Transaction].
//
// A Tx is safe for concurrent use. Its methods panic after the handler has
// returned: an addition would be lost silently.
type Tx struct {
	mu         sync.Mutex
	statements []addition
	mistake    error // the first
	frozen     bool

	// doubtful reports that the answer to an earlier try was lost.
	doubtful bool
	// alone reports that the transaction was committed without a record.
	alone bool
}

// An addition is one statement of a handler.
type addition struct {
	sql       string
	args      []any
	needs     bool   // a row
	returning string // the clause that makes it return one, or ""
	failed    func(*TransactionError) error
}

// collected is a Tx as package idempotent and the store see it.
type collected Tx

var _ attachment = (*collected)(nil)

// Collect returns the Tx of the call that ctx belongs to, the same one each time. It
// panics outside of a call, under idempotent.Unprotected, and if the call's store is
// not a [*Store].
//
// It also panics within a step or its undo function, because the attempt that commits
// may not run the step again, and in a call that uses [Transaction].
func Collect(ctx context.Context) *Tx {
	return (*Tx)(driver.Attach(ctx, func() *collected { return new(collected) }))
}

// Exec adds a statement. Values that args point to must not be changed afterwards.
func (t *Tx) Exec(sql string, args ...any) {
	t.add("Exec", addition{sql: sql, args: args})
}

// Require adds an INSERT, UPDATE or DELETE without a RETURNING clause, which must
// affect at least one row. If it affects none, nothing is committed, and failed
// returns the error of the call. The error counts as the handler's own: return
// idempotent.Permanent if a retry would fail in the same way. If failed is nil, the
// error is the [*TransactionError] with [CodeNoRow]. failed may be called more than
// once, and must not block.
func (t *Tx) Require(failed func(*TransactionError) error, sql string, args ...any) {
	t.add("Require", addition{sql: sql, args: args, needs: true, returning: "\nRETURNING 1", failed: failed})
}

// Check adds a query that must return at least one row, and is otherwise as Require.
// Without FOR SHARE or FOR UPDATE, the row may change before this transaction is
// committed.
func (t *Tx) Check(failed func(*TransactionError) error, query string, args ...any) {
	t.add("Check", addition{sql: query, args: args, needs: true, failed: failed})
}

func (t *Tx) add(method string, a addition) {
	a.args = slices.Clone(a.args)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.frozen {
		panic("postgres: Tx." + method + ": the handler has returned; nothing would commit this addition")
	}
	if err := checkRewriters(len(t.statements), a.args); err != nil && t.mistake == nil {
		t.mistake = err
	}
	if endsTransaction(a.sql) && t.mistake == nil {
		t.mistake = &TransactionError{Index: len(t.statements), Code: CodeEnded}
	}
	t.statements = append(t.statements, a)
}

// Freeze ends the collecting, as [driver.Attachment] requires.
func (t *collected) Freeze() (empty bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen = true
	return len(t.statements) == 0, t.mistake
}
