package postgres

import (
	"context"
	"errors"

	"github.com/lambda-once/once/idempotent"
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
// handler's statements were run before, and cannot be run again.
//
// If the answer is lost, package idempotent decides with a release under the same fence.
// The release waits until the server has ended this transaction, which has locked the
// record, or comes first. Then the record's write here fails, and with it the COMMIT.
func (h *held) commit(ctx context.Context, s *Store, w recordWrite) (row, error) {
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
		return row{}, s.refused(w.op, &spentError{h.lost})
	case h.store != s:
		return row{}, s.refused(w.op, errOtherStore)
	}
	h.sent = true
	defer h.free()
	b := newBatch(s, w)
	b.addRecord()
	r, err := b.send(ctx, h.conn.Conn())
	h.committed = err == nil
	if !b.certain {
		h.lost = err
	}
	return r, b.final(err)
}

// final returns the error of a transaction that cannot be sent again: where nothing was
// committed for certain, an error of the handler. One that another try of the handler
// may not meet counts as no attempt.
func (b *batch) final(err error) error {
	var rejected *driver.Rejected
	switch {
	case err == nil, !b.certain, errors.Is(err, errLost), errors.As(err, &rejected):
		return err
	case errors.Is(err, driver.ErrUnavailable):
		return &driver.Rejected{Err: idempotent.Retryable(err)}
	}
	return &driver.Rejected{Err: err}
}
