package postgres

import (
	"context"
	"errors"

	"github.com/lambda-once/once/idempotent/driver"
)

var errOtherStore = errors.New("the transaction is open in another store's database")

// A spentError reports that the transaction cannot be sent again. It does not wrap the
// error of the first try, which would have the call send it for as long as it has time.
type spentError struct{ lost error }

func (e *spentError) Error() string {
	const spent = "the transaction was sent, and cannot be sent again"
	if e.lost == nil {
		return spent
	}
	return spent + ": " + e.lost.Error()
}

// commit sends the record's write and the COMMIT in one round trip. It does so once: the
// handler's statements were run before, and cannot be run again. Only if the record is the
// call's own claim, it does so once more: see landed.
//
// If the answer is lost, package idempotent decides with a release under the same fence.
// The release waits until the server has ended this transaction, which has locked the
// record, or comes first. Then the record's write here fails, and with it the COMMIT.
func (h *openTx) commit(ctx context.Context, s *Store, w recordWrite) (row, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.frozen:
		return row{}, s.refused(w.op, errNotFrozen)
	case h.committed && w.none():
		return row{}, nil
	case h.committed:
		return row{}, errLost // by this very transaction
	case h.sent || h.conn == nil:
		return row{}, &Error{Op: w.op, Table: s.layout.table, Err: &spentError{h.lost}, notWritten: h.lost == nil}
	case h.store != s:
		return row{}, s.refused(w.op, errOtherStore)
	}
	h.sent = true
	defer func() {
		if h.sent {
			h.free()
		}
	}()
	b := newBatch(s, w)
	returns := w.owner != "" && !s.layout.dsql // which has no savepoints
	if returns {
		b.queue.Queue("savepoint once")
	}
	b.addRecord()
	err := b.send(ctx, h.conn.Conn())
	h.committed = err == nil
	if !b.certain {
		h.lost = err
	}
	switch {
	case !errors.Is(err, errLost):
		return row{}, b.final(err)
	case returns:
		return h.landed(ctx, w)
	}
	return s.met(ctx, h.conn.Conn(), w.id), errLost
}

// landed returns to the state before the record's write, which has met a record. If that is
// the claim of the call, whose answer was lost, landed returns it, and leaves the
// transaction open: the call then completes the claim in it. With any other record, the
// transaction must not stay open, as the handler may run again and wait for its locks.
func (h *openTx) landed(ctx context.Context, w recordWrite) (row, error) {
	met, err := h.store.undo(ctx, h.conn.Conn(), "rollback to savepoint once", w.id)
	switch {
	case err != nil:
		return row{}, h.store.notWritten(w.op, err)
	case met.Status != driver.InProgress || met.Owner != w.owner:
		return h.store.met(ctx, h.conn.Conn(), w.id), errLost
	}
	h.sent = false
	return met, errLost
}

// final returns the error of a transaction that cannot be sent again: where nothing was
// committed for certain, an error of the handler. One that may not come again counts as no
// attempt.
func (b *batch) final(err error) error {
	var rejected *driver.Rejected
	switch {
	case err == nil, !b.certain, errors.As(err, &rejected):
		return err
	case errors.Is(err, driver.ErrUnavailable):
		return &driver.Rejected{Err: err, Retryable: true}
	}
	return &driver.Rejected{Err: err}
}
