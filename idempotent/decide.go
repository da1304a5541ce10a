package idempotent

import "time"

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
func decide(met Record, owner, fingerprint string, now time.Time, c *Config) verdict {
	ours := met.Owner != "" && met.Owner == owner
	switch {
	case met.Status == Absent:
		return claimAnew
	case met.Status == InProgress && ours:
		// The answer to an earlier copy of our claim was lost.
		return runHandler
	case met.Fingerprint != "" && fingerprint != "" && met.Fingerprint != fingerprint:
		// Whatever the status: a retry of the first payload may be on its
		// way, and it must not find the second's record.
		return refuseReuse
	case met.Status == Completed || met.Status == Failed:
		return replayRecord
	case met.Status != InProgress:
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

// ending is what a finished handler does when its fenced write met a record
// that it does not own.
type ending uint8

const (
	tryAgain  ending = iota // it is still ours
	keepTheir               // it is finished: its answer is the answer
	adoptIt                 // a successor gave it up: finish it
	yieldIt                 // another owner is running, or it is none that we know
	recreate                // it is gone: put the finished record
)

// decideEnd holds the rules for a finishing write of owner that was refused.
// The work is done, so whatever nobody else owns is finished rather than left
// for a retry that would do the work again.
func decideEnd(met Record, owner string) ending {
	switch {
	case met.Status == Absent:
		return recreate
	case met.Status == Completed || met.Status == Failed:
		return keepTheir
	case met.Status != InProgress:
		return yieldIt
	case met.Owner == owner:
		return tryAgain
	case met.Owner == "" && met.Lease.Equal(LeaseEnded):
		return adoptIt
	default:
		// Without an owner but with a lease, it is another library's claim.
		return yieldIt
	}
}
