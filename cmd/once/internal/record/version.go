package record

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// Version returns a text that differs after whatever an owner or an operator writes. r is nil
// if the record is gone.
func (r *Record) Version() string {
	if r == nil {
		return "gone"
	}
	text := fmt.Sprintf("%s %q %d %d %d %d %q %d %q %q", r.Status, r.Owner, r.Lease.UnixMilli(), r.Attempt, r.Refunds, r.Expires.Unix(),
		r.Fingerprint, len(r.Steps), r.Unavailable, r.Ended.Cut().Encode())
	return fmt.Sprintf("%.16x", sha256.Sum256([]byte(text)))
}

// After returns the record after a change without a new owner, which would tell the write: a
// release or a redaction.
func (r *Record) After(c driver.Change) *Record {
	e := r.Entry
	switch c.Release {
	case driver.ReleaseDelete:
		return nil
	case driver.ReleaseRefund:
		e.Refunds++
	case 0:
		e.Unavailable, e.Ended, e.Steps, e.Lease = c.Unavailable, c.Ended, nil, time.Time{}
		return New(e)
	}
	e.Owner, e.Lease = "", driver.LeaseEnded
	return New(e)
}
