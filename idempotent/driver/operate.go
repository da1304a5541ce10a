package driver

import (
	"context"
	"strings"
	"time"
)

// An Operable is a [Store] whose records an operator can list, inspect and change, as
// the command once does. Functions never call these methods, and their roles need no
// permission for them.
type Operable interface {
	Store

	// Inspect returns the record with this id as it is stored, also one that Get
	// cannot read. If there is none, the Entry has the Status Absent and no
	// Problems. Inspect reads with strong consistency.
	Inspect(ctx context.Context, id string) (Entry, error)

	// Scan returns a page of the records that f selects, in no order. It begins at
	// the position after; "" is the beginning. Records that are written meanwhile may
	// be missing or come twice.
	Scan(ctx context.Context, f Filter, after string) (Page, error)

	// Apply applies c if the record is stored exactly as e, which Inspect has
	// returned. It is the write of a person: unlike Change, it compares all that is
	// stored, and it needs no owner. A release removes Began: the person knows the effects of
	// the attempts before it. A heartbeat, a takeover or a completion since
	// Inspect therefore prevents it. See [Entry.Validate] for the changes.
	//
	// Apply returns the record as written or, with ok false, as it is stored now.
	// An error that wraps [ErrNotWritten] reports that nothing was written. After all
	// remaining errors the outcome is unknown. The record comes with the error if
	// Apply has read it.
	Apply(ctx context.Context, e Entry, c Change) (_ Entry, ok bool, err error)
}

// A Sweeper is an [Operable] that does not delete expired records by itself.
type Sweeper interface {
	Operable

	// Sweep deletes records for which Record.Expired(cutoff) holds, at most limit of
	// them. It does one page of the work, from the position after on. Call it with
	// Progress.Next until that is "". A record that is claimed again meanwhile stays.
	//
	// The cutoff is the caller's time, less the largest clock skew of all callers. An
	// expired record takes up nothing but space, so an hour less is a good choice.
	//
	// When ctx ends, Sweep waits some seconds for the deletions under way, so that it
	// counts them. After an error, Progress.Next is the position from which to repeat
	// the page, and the records deleted so far stay deleted.
	Sweep(ctx context.Context, cutoff time.Time, limit int, after string) (deleted int, _ Progress, err error)
}

// An Entry is a record as an operator sees it.
type Entry struct {
	// Record is as much of the record as can be read.
	Record
	// Problems state which parts of the record calls cannot read, and why. Such
	// records come from foreign programs.
	Problems []string
	// Size is the number of bytes that the record takes, by the store's own count.
	Size int
	// At is the time of the store's server.
	At time.Time
	// Stored is the record in the store's own form, with which Apply compares. Scan
	// may leave it nil.
	Stored any
}

// ErrForeignEntry is the error of Apply for an Entry from a different kind of store.
var ErrForeignEntry error = &InvalidWriteError{Reason: "the entry was read from a different kind of store"}

// Validate returns an [*InvalidWriteError] if an operator never makes the change c.
// Stores call it in [Operable].Apply. A record of any state can be deleted. One in
// progress, which calls can read, can also be released, or be completed or failed under
// a new owner. A record that an operator has finished can be finished again. A finished record
// that calls can read can be redacted, as [Entry.Redaction] returns.
func (e Entry) Validate(c Change) error {
	finish := c.Status != Absent
	switch {
	case e.ID == "" || e.Stored == nil:
		return &InvalidWriteError{Reason: "a record is changed only as Inspect has returned it"}
	case finish && c.Owner == "":
		return e.validateRedaction(c)
	case c.With != nil || c.Fingerprint != "" || c.Payload != "" || c.Unavailable != "":
		return &InvalidWriteError{Reason: "an operator releases or redacts a record, or finishes it under a new owner"}
	case c.Release != ReleaseDelete && (e.Status != InProgress && !(finish && e.Resolved()) || len(e.Problems) > 0):
		return &InvalidWriteError{Reason: "only a readable record in progress can be changed, or one that an operator has finished; others can be deleted"}
	case !finish && c.Release == 0:
		return &InvalidWriteError{Reason: "a takeover, an extension or a step is not for operators"}
	}
	fence := Fence{ID: e.ID, Lease: LeaseEnded} // with which c would adopt a record
	if c.Release != 0 {
		fence.Owner = "the owner"
	}
	return c.Validate(fence)
}

// A Filter selects records. Its zero value selects all.
type Filter struct {
	// Status selects the records of one state.
	Status Status
	// Prefix selects the records whose ID begins with it.
	Prefix string
	// Expired selects the records that expired before it. The zero time selects all.
	Expired time.Time
	// Lapsed selects the records in progress whose lease ended before it. A released
	// record is one of them. The zero time selects all.
	Lapsed time.Time
	// Brief leaves out the results, steps and request, which are most of a record, and Size.
	Brief bool
	// Limit is about how many records a page looks at. 0 leaves it to the store.
	Limit int
}

// Selects reports whether f selects r, for stores that read records before they
// filter them.
func (f Filter) Selects(r Record) bool {
	return (f.Status == Absent || f.Status == r.Status) && strings.HasPrefix(r.ID, f.Prefix) &&
		(f.Expired.IsZero() || r.Expired(f.Expired)) && (f.Lapsed.IsZero() || r.Status == InProgress && r.Lapsed(f.Lapsed))
}

// A Page is a part of the records of a store.
type Page struct {
	Progress
	Entries []Entry
	// At is the time of the store's server.
	At time.Time
}

// Progress states how far a scan or a sweep has come.
type Progress struct {
	// Next is the position where the next call continues. "" is the end. It may be
	// passed on as text.
	Next string
	// Read is the number of records that were looked at.
	Read int
	// Units is the price of the reads, where they are billed.
	Units float64
}

// Linger returns a context for requests that are under way when ctx ends. It ends ten
// seconds later, so that the answers of these requests are counted.
func Linger(ctx context.Context) (context.Context, context.CancelFunc) {
	lingering, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(10*time.Second, func() { cancel(context.Cause(ctx)) })
	})
	return lingering, func() { stop(); cancel(context.Canceled) }
}
