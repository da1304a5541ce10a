package idempotent

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// standing is how a record that a write met stands to the attempt that sent it.
type standing uint8

const (
	ours      standing = iota // in progress, with our owner
	gone                      // absent, or expired
	reused                    // of another payload
	finished                  // completed or failed
	abandoned                 // released by a successor; we know all its steps
	advanced                  // released with steps of a successor, or while it is undone
	foreign                   // of another owner or library, or of an unknown status
	standings                 // their number
)

// stand reports how met stands to the attempt that owns, or owned, own.
// own.Steps are all steps that the attempt started with and has sent. A record
// that expired before cutoff is gone.
func stand(met, own driver.Record, cutoff time.Time) standing {
	switch {
	case met.Status == driver.InProgress && met.Owner == own.Owner:
		return ours
	case met.Expired(cutoff):
		return gone
	case met.Fingerprint != "" && own.Fingerprint != "" && met.Fingerprint != own.Fingerprint:
		// Since our lease ended the key was used for another payload: its
		// result is not ours, and ours is not its.
		return reused
	case met.Status == driver.Completed || met.Status == driver.Failed:
		return finished
	case met.Status == driver.InProgress && isReleased(met):
		if knowsSteps(own.Steps, met.Steps) {
			return abandoned
		}
		return advanced
	default:
		// Without an owner but with a lease, it is another library's claim.
		return foreign
	}
}

func isReleased(r driver.Record) bool { return r.Owner == "" && r.Lease.Equal(driver.LeaseEnded) }

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

// ruling is what follows from the answer to a write.
type ruling uint8

// The rulings that send again, the same write or another one in its place.
const (
	again     ruling = iota
	adopt            // finish the record that a successor released
	recreate         // put the finished record where none is
	keepSteps        // release, and keep the record for its steps
)

// The rulings that end a write.
const (
	done       ruling = iota + 10 // it is stored
	takeTheirs                    // another's result is stored: it is the answer
	yield                         // another owns the record
	landed                        // our own claim is there, although its answer was lost
	another                       // another's record is there: as for a claim
	notWritten                    // nothing was written
	rejected                      // by a condition of the attachment
	tooLarge                      // it has no room in the record
	vanished                      // the record is gone, and may have held our commit
	unknown                       // out of tries or time
)

func (r ruling) sendsAgain() bool { return r < done }

// reply is the answer to one try.
type reply struct {
	met driver.Record // as written, or as met
	ok  bool
	err error
}

// progress is how far a write has come.
type progress struct {
	tries   int
	cutoff  time.Time     // before which a record is expired
	elapsed time.Duration // since the first try
	timeUp  bool
	// unacknowledged says that the answer to an earlier try was lost.
	unacknowledged bool
}

// judge rules on the answer to a try of a write under p by the attempt that
// owns, or owned, own. It is pure. wrote reports whether a finished record is
// this write's own.
func (p *policy) judge(r reply, own driver.Record, at progress, wrote bool) ruling {
	switch {
	case r.ok:
		return done
	case r.err != nil:
		return p.judgeError(r.err, at)
	}
	s := stand(r.met, own, at.cutoff)
	how := p.on[s]
	switch {
	case s == finished && wrote && how != yield:
		return done
	case s >= abandoned && p.atomic && begunAnew(r.met, own, at):
		return vanished
	case (s == abandoned || s == advanced) && p.sameAttempt && r.met.Attempt != own.Attempt:
		return yield
	case how == yield && p.mayBeLost && at.unacknowledged:
		// A release of ours has made room for a successor.
		return done
	case how.sendsAgain() && at.timeUp:
		return unknown
	case how == again && p.keepsSteps && len(r.met.Steps) > 0:
		return keepSteps
	}
	return how
}

// begunAnew reports whether a record that is not ours may have been begun after
// ours was removed, and not be a successor of ours.
func begunAnew(met, own driver.Record, at progress) bool {
	switch {
	case isReleased(met):
		return met.Attempt < own.Attempt
	case met.Owner != "":
		return met.Attempt <= own.Attempt
	default:
		// Another library counts no attempts: only answers say what was
		// committed.
		return at.unacknowledged
	}
}

func (p *policy) judgeError(err error, at progress) ruling {
	_, isRefused := errors.AsType[*driver.Rejected](err)
	doubtful := p.unfenced && at.unacknowledged // nothing fences the earlier try
	switch {
	case isRefused && !doubtful:
		return rejected
	case isRefused:
		return unknown
	case p.fits && errors.Is(err, driver.ErrTooLarge):
		return tooLarge
	case !at.timeUp && p.triesAfter(err, at):
		return again
	case p.unfenced && !doubtful && errors.Is(err, driver.ErrNotWritten):
		return notWritten
	}
	return unknown
}

// triesAfter reports whether another try may do better.
func (p *policy) triesAfter(err error, at progress) bool {
	switch {
	case errors.Is(err, driver.ErrUnavailable):
		return p.outages == 0 || at.tries < p.outages
	case p.refusedFor > 0:
		return at.elapsed <= p.refusedFor
	default:
		return p.refusals == 0 || at.tries < p.refusals
	}
}
