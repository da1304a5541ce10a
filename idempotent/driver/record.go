package driver

import (
	"strings"
	"time"
)

// A Status is the state of a record.
type Status string

// The states of a record. Powertools for AWS Lambda writes INPROGRESS and
// COMPLETED too, but never FAILED.
const (
	Absent     Status = "" // no record
	InProgress Status = "INPROGRESS"
	Completed  Status = "COMPLETED"
	Failed     Status = "FAILED"
)

// A Record is the stored state of one key.
type Record struct {
	ID     string
	Status Status

	// Owner is the token of the claim that owns the record. It fences every
	// later write of that claim. "" is absent: the record was released, or
	// a foreign library wrote it.
	Owner string
	// Attempt is 1 for the first owner and grows by one at each takeover. 0 is
	// absent: a foreign library wrote the record.
	Attempt int64
	// Refunds is the number of attempts that do not count.
	Refunds int64

	// Lease is the time until which the owner may run, in whole
	// milliseconds. The zero time is absent. [LeaseEnded] means that the
	// record was released.
	Lease time.Time
	// Expires is the end of the retention, in whole seconds. The zero time
	// is absent: the record never expires.
	Expires time.Time
	// Began is when the first attempt made its claim, in whole milliseconds. Takeovers
	// keep it, and so does the end of the record. The zero time is absent: an earlier
	// version wrote the record, there was no claim, or a person has released it.
	Began time.Time
	// Ended tells a person how and when the record was finished. A record in progress has
	// none, so neither a claim of an expired record nor a takeover leaves one.
	Ended Ending

	// Fingerprint is the fingerprint of the payload. "" is absent.
	Fingerprint string

	// Data is the encoded result of a completed record, or the encoded error
	// of a failed one. nil is absent, which differs from empty: for a call with
	// a result, an absent result is an error.
	Data []byte
	// Payload refers to data in a payload store. "" is absent.
	Payload string
	// Unavailable is the reason why a finished record has neither Data nor
	// Payload: the result was too large, or encoding it failed. A record has
	// at most one of the three.
	Unavailable string
	// Steps maps the names of finished steps to their encoded results.
	Steps map[string][]byte
	// Request is the encoded request, for a later attempt without its caller. A record
	// is created with it. Takeovers and releases keep it, and the end of the record
	// removes it. nil is absent.
	Request []byte
}

// The Owner of a record that an operator has finished begins with OperatorOwner, which
// no token of a claim does. OperatorHTTPOwner says that Data is a response of package
// httpapi, which other callers cannot read.
const (
	OperatorOwner     = "operator-"
	OperatorHTTPOwner = OperatorOwner + "http-"
)

// Resolved reports whether an operator has finished the record.
func (r Record) Resolved() bool {
	return (r.Status == Completed || r.Status == Failed) && strings.HasPrefix(r.Owner, OperatorOwner)
}

// LeaseEnded is the Lease of a record that was released but not deleted.
var LeaseEnded = time.UnixMilli(0)

// Expired reports whether the retention of the record ended before cutoff and,
// if the record is in progress, its lease too. The cutoff is the caller's time
// less its clock skew. A heartbeat may extend a lease past the retention; a
// record with a live lease never expires.
//
// Retention is compared in whole seconds and leases in whole milliseconds,
// both strictly, as in a DynamoDB condition on the stored numbers.
func (r Record) Expired(cutoff time.Time) bool {
	if r.Status == Absent {
		return true
	}
	if r.Expires.IsZero() || r.Expires.Unix() >= cutoff.Unix() {
		return false
	}
	return r.Status != InProgress || r.Lease.IsZero() || r.Lapsed(cutoff)
}

// Lapsed reports whether the lease ended before cutoff, the caller's time less
// its clock skew. A record without a lease never lapses.
func (r Record) Lapsed(cutoff time.Time) bool {
	return !r.Lease.IsZero() && r.Lease.UnixMilli() < cutoff.UnixMilli()
}

// Used returns the number of attempts that count against Config.MaxAttempts.
func (r Record) Used() int64 {
	return max(r.Attempt, 1) - r.Refunds
}

// WholeMillis returns t as a [Record] contains a Lease. The zero time stays.
func WholeMillis(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli())
}

// WholeSeconds returns t as a [Record] contains Expires. The zero time stays.
func WholeSeconds(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0)
}
