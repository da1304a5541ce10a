package driver

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Store stores records. Every method is safe for concurrent use.
//
// An error that wraps [ErrUnavailable] reports that the store could not be
// reached or was too busy, and that a retry may succeed. If only the load was the
// cause, the error also wraps [ErrThrottled]. After all remaining errors, a retry is
// unlikely to succeed. If the caller has no permission, the error wraps [ErrDenied].
type Store interface {
	// Create writes r if there is no record with its ID, or one for which
	// Record.Expired(cutoff) holds. With a zero cutoff it writes only if there
	// is none. Create returns the record as written or, with ok false, the
	// record as stored. It writes an in-progress record with an empty set of
	// steps. If with is not nil, the store commits it together with r.
	Create(ctx context.Context, r Record, cutoff time.Time, with any) (_ Record, ok bool, err error)

	// Change applies c to the record named by f if the fence holds. It never
	// creates a record. A takeover returns the whole record. The
	// remaining changes return at least Owner, Status, and those of Lease, Expires,
	// Data, Payload and Unavailable that they set. With ok false, Change returns the
	// record as stored, or the zero Record if there is none.
	Change(ctx context.Context, f Fence, c Change) (_ Record, ok bool, err error)

	// Get returns a record, read with strong consistency, or the zero Record
	// and a nil error if there is none. It returns expired records too.
	Get(ctx context.Context, id string) (Record, error)
}

// A Change is one fenced write. Its fields are applied together; a field with
// its zero value leaves the stored one unchanged.
//
// The protocol uses these combinations, and a store must support them:
//
//	take over        Owner, Lease, Expires [, Fingerprint, Began]
//	extend           Lease, Expires
//	step             Steps
//	complete, fail   Status, Data, Payload or Unavailable, Expires [, Ended]
//	adopt and finish Owner, Status, Data, Payload or Unavailable, Expires [, Fingerprint, Ended]
//	release          Release
//
// [Operable].Apply also supports the change of [Entry.Redaction]:
//
//	redact           Status, Unavailable, Ended
type Change struct {
	// Owner is the new owner. Without Status, the change is a takeover:
	// Attempt becomes the stored one (1 if absent) plus 1, absent Steps become
	// an empty set, and stored steps stay.
	Owner string
	// Lease is the new lease, in whole milliseconds. Without Owner, the change
	// also requires that the stored lease is earlier, so that a delayed
	// heartbeat never shortens a lease.
	Lease time.Time
	// Expires is the new end of the retention, in whole seconds.
	Expires time.Time
	// Began comes with a takeover of a record without one.
	Began time.Time
	// Steps are added to the stored ones, never together with Lease.
	Steps map[string][]byte
	// Fingerprint is written if none is stored.
	Fingerprint string
	// Status is Completed or Failed: the change finishes the record, and
	// removes its Steps, Request and Lease.
	Status Status
	// Ended comes with a Status, and replaces the stored one, also with none.
	Ended Ending
	// Data, Payload and Unavailable are as in Record. A store with no room
	// for Data writes Unavailable instead, and returns the record in that
	// form: the work is done, and must not run again for want of room.
	Data        []byte
	Payload     string
	Unavailable string
	// Release releases the record without a result.
	Release Release
	// With contains writes that only this store understands. They are
	// committed together with the change. A store returns an error for a type
	// that it does not know.
	With any
}

// A Release states how a record is released.
type Release uint8

// The ways to release a record.
const (
	// ReleaseDelete deletes the record, on the condition that it has no
	// finished steps.
	ReleaseDelete Release = iota + 1
	// ReleaseKeep removes the owner and sets the lease to [LeaseEnded]. The
	// rest stays: attempts still count, and a delayed heartbeat finds no owner.
	ReleaseKeep
	// ReleaseRefund does the same as ReleaseKeep, and adds one to Refunds.
	ReleaseRefund
)

// A Rejected error reports that the store refuses the attachment: one of its
// conditions failed, or it is too large. This request wrote nothing. An earlier
// copy of it may have been committed.
//
// The call fails with Err, as if its handler had returned it. With Retryable it is
// treated as an error that idempotent.Retryable has wrapped.
type Rejected struct {
	Err       error
	Retryable bool
}

func (e *Rejected) Error() string { return fmt.Sprintf("idempotent: attachment rejected: %v", e.Err) }

// SafeText returns the type alone: the condition is the handler's.
func (e *Rejected) SafeText() string { return fmt.Sprintf("%T", e) }

// Unwrap returns the error of the store.
func (e *Rejected) Unwrap() error { return e.Err }

var (
	// ErrUnavailable is wrapped by errors of the connection to a store and of
	// its load: transport errors, 5xx responses and throttling. The FailOpen
	// policy of package idempotent covers only these.
	ErrUnavailable = errors.New("idempotent: store unavailable")

	// ErrThrottled is wrapped by errors with which a store refuses a request
	// because of its load. It wraps [ErrUnavailable]. Observers count these
	// errors separately: more capacity helps.
	ErrThrottled = fmt.Errorf("%w: throttled", ErrUnavailable)

	// ErrDenied is wrapped by errors with which a store denies a request to a
	// caller that it knows. This request wrote nothing, and only a change of the
	// caller's permissions helps. Expired or invalid credentials are no denial:
	// they may be renewed.
	ErrDenied = errors.New("idempotent: access denied")

	// ErrNotWritten is wrapped by errors of a [Transactional] store after a
	// write with an attachment that conflicted with a concurrent transaction. This
	// request wrote nothing, and a retry may succeed. An earlier copy of the
	// request may have been committed all the same.
	ErrNotWritten = errors.New("idempotent: nothing was written")

	// ErrTooLarge is wrapped by errors for steps that do not fit into the
	// record. Nothing was written, and the same write would fail again.
	ErrTooLarge = errors.New("idempotent: too large for the record")
)
