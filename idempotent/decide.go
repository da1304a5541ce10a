package idempotent

import (
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// verdict is what a claim does about the record that it met.
type verdict uint8

const (
	claimAnew     verdict = iota // there is no record: create one
	runHandler                   // the record is ours
	replayRecord                 // it is finished
	refuseReuse                  // it was made for another payload
	awaitOwner                   // another owner is running
	takeOver                     // another owner's lease has lapsed
	outcomeLost                  // it has lapsed, and no attempt is left
	refuseUnknown                // its status is none that we know
)

// decide holds the rules of the protocol for a claim: what the record met
// means to the caller that holds the token owner, at a time now of its clock.
// It is pure; stores only perform the writes that follow from it.
func decide(met driver.Record, owner, fingerprint string, now time.Time, c *Config) verdict {
	ours := met.Owner != "" && met.Owner == owner
	switch {
	case met.Status == driver.Absent:
		return claimAnew
	case met.Status == driver.InProgress && ours:
		// The answer to an earlier copy of our claim was lost.
		return runHandler
	case met.Expired(now.Add(-c.ClockSkew)):
		// A store may answer a record that is over: one that it read, after
		// another kind of conflict or for a call that waits.
		return claimAnew
	case met.Fingerprint != "" && fingerprint != "" && met.Fingerprint != fingerprint:
		// Whatever the status: a retry of the first payload may be on its
		// way, and it must not find the second's record.
		return refuseReuse
	case met.Status == driver.Completed || met.Status == driver.Failed:
		return replayRecord
	case met.Status != driver.InProgress:
		return refuseUnknown
	case !met.Lapsed(now.Add(-c.ClockSkew)):
		// Also without any lease: another library's record is alive until
		// its expiration, and then Create replaces it.
		return awaitOwner
	case c.MaxAttempts > 0 && met.Used() >= int64(c.MaxAttempts):
		return outcomeLost
	default:
		return takeOver
	}
}
