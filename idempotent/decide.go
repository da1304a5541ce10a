package idempotent

import (
	"bytes"
	"strings"
	"time"
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
func decide(met Record, owner, fingerprint string, now time.Time, c *Config) verdict {
	ours := met.Owner != "" && met.Owner == owner
	switch {
	case met.Status == Absent:
		return claimAnew
	case met.Status == InProgress && ours:
		// The answer to an earlier copy of our claim was lost.
		return runHandler
	case met.Over(now.Add(-c.ClockSkew)):
		// A store may answer a record that is over: one that it read, after
		// another kind of conflict or for a call that waits.
		return claimAnew
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
	adoptIt                 // a successor released it: finish it
	leaveIt                 // a successor released it with steps of its own
	yieldIt                 // another owner is running, or it is none that we know
	recreate                // it is gone, or over: put the finished record
)

// decideEnd holds the rules for a finishing write by the owner of ours that was
// refused. The work is done, so whatever nobody else owns is finished rather
// than left for a retry that would do the work again. ours.Steps are all that
// the attempt started with and has sent. over is the time before which a record
// counts as gone.
func decideEnd(met, ours Record, over time.Time) ending {
	owned := met.Status == InProgress && met.Owner == ours.Owner
	switch {
	case owned:
		return tryAgain
	case met.Over(over):
		return recreate
	case met.Fingerprint != "" && ours.Fingerprint != "" && met.Fingerprint != ours.Fingerprint:
		// Since our lease lapsed the key was used for another payload: its
		// answer is not ours, and ours is not its.
		return yieldIt
	case met.Status == Completed || met.Status == Failed:
		return keepTheir
	case met.Status != InProgress:
		return yieldIt
	case met.Owner == "" && met.Lease.Equal(LeaseEnded):
		if !knowsSteps(ours.Steps, met.Steps) {
			return leaveIt
		}
		return adoptIt
	default:
		// Without an owner but with a lease, it is another library's claim.
		return yieldIt
	}
}

// saysUndoing reports whether a stored step of this name says that undoing has
// begun.
func saysUndoing(name string) bool {
	return name == failureStep || strings.HasPrefix(name, undoStep)
}

// hasSaga reports whether some of the stored steps may have to be undone.
func hasSaga(stored map[string][]byte) bool {
	for name, data := range stored {
		if saysUndoing(name) || isUndoable(data) {
			return true
		}
	}
	return false
}

// knowsSteps reports whether an attempt that knows some steps may finish a
// record that holds the stored ones. Finishing removes them. A step that only a
// successor knows would never be undone; once undoing has begun, success would
// leave a saga half undone.
func knowsSteps(known, stored map[string][]byte) bool {
	for name, data := range stored {
		own, ok := known[name]
		if !ok || saysUndoing(name) || !bytes.Equal(own, data) {
			return false
		}
	}
	return true
}
