package protocol

import (
	"bytes"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/form"
)

// Standing is how a record that a write met stands to the attempt that sent it.
type Standing uint8

const (
	Ours      Standing = iota // in progress, with our owner
	Gone                      // absent, or expired
	Reused                    // of a different payload
	Finished                  // completed or failed
	Abandoned                 // released by a successor; we know all its steps
	Advanced                  // released with steps of a successor, or while it is undone
	Foreign                   // of a different owner or library, or of an unknown status
	standings                 // their number
)

// stand reports how met stands to the attempt that owns, or owned, own.
// own.Steps are all steps that the attempt started with and has sent. A record
// that expired before cutoff is gone.
func stand(met, own *driver.Record, cutoff time.Time) Standing {
	switch {
	case met.Status == driver.InProgress && met.Owner == own.Owner:
		return Ours
	case met.Expired(cutoff):
		return Gone
	case met.Fingerprint != "" && own.Fingerprint != "" && met.Fingerprint != own.Fingerprint:
		// Since our lease ended the key was used for a different payload: its
		// result is not ours, and ours is not its.
		return Reused
	case met.Status == driver.Completed || met.Status == driver.Failed:
		return Finished
	case met.Status == driver.InProgress && isReleased(met):
		if knowsSteps(own.Steps, met.Steps) {
			return Abandoned
		}
		return Advanced
	default:
		// Without an owner but with a lease, it is the claim of a different library.
		return Foreign
	}
}

func isReleased(r *driver.Record) bool { return r.Owner == "" && r.Lease.Equal(driver.LeaseEnded) }

// knowsSteps reports whether an attempt that knows some steps may finish a
// record that contains the met ones. Finishing removes them. A step that only a
// successor knows would never be undone; once undoing has begun, success would
// leave a saga half undone.
func knowsSteps(known, met map[string][]byte) bool {
	for name, data := range met {
		own, ok := known[name]
		if !ok || form.SaysUndoing(name) || !bytes.Equal(own, data) {
			return false
		}
	}
	return true
}
