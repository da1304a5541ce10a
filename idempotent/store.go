package idempotent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Store, for its authors: it keeps records. It performs conditional writes and decides nothing:
// clocks, skew, attempts and fingerprints are the core's, so that a new rule
// of the protocol needs no change in any store.
//
// Every method is safe for concurrent use. A lost race is a result (ok is
// false and the record is the one met), not an error. An error means that
// nothing is known of the outcome, unless it is a [*Rejected]. An error that
// wraps [ErrUnavailable] says that the store could not be reached or was too
// busy; any other, that it refused and would refuse again. Of the former, those
// that come from its load alone wrap [ErrThrottled].
//
// Package storetest holds the conformance suite that a store must pass.
type Store interface {
	// Create writes r where no record is, or one for which
	// Record.Over(over) holds. With the zero over it only writes where no
	// record is. It answers the record as written or, not ok, the record as
	// met. An in-progress record is written with an empty set of steps.
	Create(ctx context.Context, r Record, over time.Time, with any) (_ Record, ok bool, err error)

	// Change makes one fenced write: it applies c to the record that f
	// names, if the fence holds. It never creates a record. Taking over, it
	// answers the whole record; otherwise at least the fields it has set.
	// Not ok, it answers the record as met, Absent where there is none.
	Change(ctx context.Context, f Fence, c Change) (_ Record, ok bool, err error)

	// Get reads a record, strongly consistent. Absent, with a nil error,
	// where there is none. Whether the record is over is the caller's
	// business.
	Get(ctx context.Context, id string) (Record, error)
}

// Fence, for authors of stores, is the condition of a [Change]: the record is in progress and has
// this Owner ("" means that it has none).
//
// Attempt (0 means absent) and Lease (zero means absent) are compared only
// when the change sets a new owner: a takeover must meet the very lease that
// it saw lapse, while an owner's own writes must not depend on how far its
// last heartbeat came.
type Fence struct {
	ID      string
	Owner   string
	Attempt int64
	Lease   time.Time
}

// Change, for authors of stores, is one fenced write. The fields that are set are applied together;
// a field that has its zero value is left as it is stored.
//
// The combinations that the protocol uses, and that a store has to support:
//
//	take over        Owner, Lease, Expires [, Fingerprint]
//	extend           Lease, Expires
//	step             Steps
//	complete, fail   Status, Data, Payload or Unavailable, Expires
//	adopt and finish Owner, Status, Data, Payload or Unavailable, Expires [, Fingerprint]
//	release          Release
type Change struct {
	// Owner is the new owner. Without Status it takes the record over:
	// Attempt becomes the stored one (1 where absent) + 1, absent Steps
	// become an empty set, and stored ones stay.
	Owner string
	// Lease in whole milliseconds. Without Owner it also requires that the
	// stored lease is earlier: a delayed heartbeat never shortens a lease.
	Lease time.Time
	// Expires in whole seconds, as given: the core passes the maximum.
	Expires time.Time
	// Steps to add. Never together with Lease.
	Steps map[string][]byte
	// Fingerprint is written where none is stored.
	Fingerprint string
	// Status Completed or Failed ends the record: Steps and Lease go.
	Status Status
	// Data, Payload and Unavailable are as in Record. A store that cannot hold Data
	// writes Unavailable instead and says so in its answer: the work is
	// done and must not run again because its result does not fit.
	Data        []byte
	Payload     string
	Unavailable string
	// Release ends the lease without a result.
	Release Release
	// With holds writes that only this store understands, committed
	// together with the change. A store refuses what it does not know.
	With any
}

// Release, for authors of stores, is a way to give a record up.
type Release uint8

// The ways to give a record up.
const (
	// ReleaseDelete removes the record; only without finished steps.
	ReleaseDelete Release = iota + 1
	// ReleaseKeep ends the lease and removes the owner, and keeps the rest:
	// attempts still count, and a delayed heartbeat meets no owner.
	ReleaseKeep
	// ReleaseRefund is ReleaseKeep and gives the attempt back.
	ReleaseRefund
)

// Rejected, for authors of stores, is the error of a store for a write whose With was refused by a
// condition of its own. Nothing was written.
type Rejected struct{ Err error }

func (e *Rejected) Error() string { return "idempotent: the write was refused: " + e.Err.Error() }

// Unwrap gives the store's own error.
func (e *Rejected) Unwrap() error { return e.Err }

// ErrUnavailable marks errors of a [Store] that come from the way to it or
// from its load: transport errors, 5xx answers and throttling. Only these are
// covered by [FailOpen].
var ErrUnavailable = errors.New("idempotent: store unavailable")

// ErrNotWritten marks errors of a [Transactional] store that say of a write
// with an attachment that this request wrote nothing, and that another may do
// better: conflicts with other transactions. What an earlier request has done
// they leave open.
var ErrNotWritten = errors.New("idempotent: nothing was written")

// ErrThrottled marks those of the errors that are [ErrUnavailable], and it wraps
// that, in which the store refused for its load: more capacity would have
// helped. Observers count them apart.
var ErrThrottled = fmt.Errorf("%w: throttled", ErrUnavailable)
