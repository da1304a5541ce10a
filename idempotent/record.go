package idempotent

import "time"

// Status, for authors of stores, is the state of a stored record.
type Status string

// The states of a record. Powertools for AWS Lambda writes INPROGRESS and
// COMPLETED too; it has no FAILED.
const (
	Absent     Status = "" // no record
	InProgress Status = "INPROGRESS"
	Completed  Status = "COMPLETED"
	Failed     Status = "FAILED"
)

// Record, for authors of stores, is what is stored for one key.
type Record struct {
	ID     string
	Status Status

	// Owner is the token of the claim that holds the record: the fence of
	// every later write. "" is absent: the record was released, or another
	// library wrote it.
	Owner string
	// Attempt is 1 for the first owner and one more at each takeover. 0 is
	// absent: another library wrote the record.
	Attempt int64
	// Refunds counts the attempts that were given back.
	Refunds int64

	// Lease is the time until which the owner may run, in whole
	// milliseconds. The zero time is absent; time.UnixMilli(0) is ended.
	Lease time.Time
	// Expires is the end of the retention, in whole seconds. The zero time
	// is absent: the record stays for ever.
	Expires time.Time

	// Fingerprint of the payload; "" is absent.
	Fingerprint string

	// Data is the encoded result of a completed record, or the encoded
	// error of a failed one. nil is absent, which is not the same as empty:
	// a call with a result gets a [*ResultUnavailableError] for it.
	Data []byte
	// Payload refers to such Data that is kept elsewhere, in a
	// [PayloadStore]. "" is absent.
	Payload string
	// Unavailable says why a finished record has neither although the
	// work was done: the result was too large or could not be encoded.
	// Of the three, a record has one at most.
	Unavailable string
	// Steps holds the encoded results of finished steps.
	Steps map[string][]byte
}

// LeaseEnded is the Lease of a record that was released and kept.
var LeaseEnded = time.UnixMilli(0)

// Over reports whether the record counts as gone at a time that the caller
// has already moved back by its clock skew: its retention is over and, while
// it is in progress, so is its lease. A long heartbeat may carry a lease past
// the retention, and a record under a live lease is never gone.
//
// Retention is compared in whole seconds and leases in whole milliseconds,
// both strictly, as in a DynamoDB condition on the stored numbers.
func (r Record) Over(over time.Time) bool {
	if r.Status == Absent {
		return true
	}
	if r.Expires.IsZero() || r.Expires.Unix() >= over.Unix() {
		return false
	}
	return r.Status != InProgress || r.Lease.IsZero() || r.Lapsed(over)
}

// Lapsed reports whether the lease ended before a time that the caller has
// already moved back by its clock skew. A record without a lease never lapses.
func (r Record) Lapsed(over time.Time) bool {
	return !r.Lease.IsZero() && r.Lease.UnixMilli() < over.UnixMilli()
}

// Used is the number of attempts that count against Config.MaxAttempts.
func (r Record) Used() int64 {
	return max(r.Attempt, 1) - r.Refunds
}
