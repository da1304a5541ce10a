package protocol

import (
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// Ruling is the consequence of the answer to a write.
type Ruling uint8

// The rulings that send again, the same write or one in its place.
const (
	Again     Ruling = iota
	Adopt            // finish the record that a successor released
	Recreate         // put the finished record where none is
	KeepSteps        // release, and keep the record for its steps
)

// The rulings that end a write.
const (
	Done       Ruling = iota + 10 // it is stored
	TakeTheirs                    // the result of a different call is stored: return it
	Yield                         // a different owner has the record
	Landed                        // our own claim is there, although its answer was lost
	Another                       // the record of a different call is there: as for a claim
	NotWritten                    // nothing was written
	Rejected                      // by a condition of the attachment
	TooLarge                      // it has no room in the record
	Vanished                      // the record is gone, and may have contained our commit
	Unknown                       // out of tries or time
)

// SendsAgain reports whether the write, or one in its place, is sent again.
func (r Ruling) SendsAgain() bool { return r < Done }

// Reply is the answer to one try.
type Reply struct {
	Met driver.Record // as written, or as met
	OK  bool
	Err error
}

// Progress is how far a write has come.
type Progress struct {
	Tries   int
	Cutoff  time.Time     // before which a record is expired
	Elapsed time.Duration // since the first try
	Denied  time.Duration // since the first of the denials in a row
	Pause   time.Duration // before the next try, at most
	TimeUp  bool
	// Unacknowledged reports that the answer to an earlier try was lost.
	Unacknowledged bool
}

// Judge rules on the answer to a try of a write under p by the attempt that
// owns, or owned, own. It is pure. wrote reports whether a record that is finished,
// or ours, is as this write leaves it.
func (p *Policy) Judge(r *Reply, own *driver.Record, at Progress, wrote bool) Ruling {
	switch {
	case r.OK:
		return Done
	case r.Err != nil:
		return p.judgeError(r.Err, at)
	}
	s := stand(&r.Met, own, at.Cutoff)
	how := p.on[s]
	switch {
	case (s == Finished || s == Ours) && wrote && how != Yield:
		return Done
	case s >= Abandoned && p.atomic && begunAnew(&r.Met, own, at):
		return Vanished
	case (s == Abandoned || s == Advanced) && p.sameAttempt && r.Met.Attempt != own.Attempt:
		return Yield
	case how == Yield && p.mayBeLost && at.Unacknowledged:
		// A release of ours has made room for a successor.
		return Done
	case how.SendsAgain() && at.TimeUp:
		return Unknown
	case how == Again && p.keepsSteps && len(r.Met.Steps) > 0:
		return KeepSteps
	}
	return how
}

// begunAnew reports whether a record that is not ours may have been begun after
// ours was removed, and not be a successor of ours.
func begunAnew(met, own *driver.Record, at Progress) bool {
	switch {
	case isReleased(met):
		return met.Attempt < own.Attempt
	case met.Owner != "":
		return met.Attempt <= own.Attempt
	default:
		// A different library counts no attempts: only answers tell whether our
		// transaction was committed.
		return at.Unacknowledged
	}
}

func (p *Policy) judgeError(err error, at Progress) Ruling {
	_, isRefused := errors.AsType[*driver.Rejected](err)
	doubtful := p.unfenced && at.Unacknowledged // nothing fences the earlier try
	switch {
	case isRefused && !doubtful:
		return Rejected
	case isRefused:
		return Unknown
	case p.fits && errors.Is(err, driver.ErrTooLarge):
		return TooLarge
	case !at.TimeUp && p.triesAfter(err, at):
		return Again
	case p.unfenced && !doubtful && errors.Is(err, driver.ErrNotWritten):
		return NotWritten
	}
	return Unknown
}

// triesAfter reports whether a further try may do better.
func (p *Policy) triesAfter(err error, at Progress) bool {
	switch {
	case errors.Is(err, driver.ErrUnavailable):
		return p.outages == 0 || at.Tries < p.outages
	case p.deniedFor > 0 && errors.Is(err, driver.ErrDenied):
		return at.Denied+at.Pause <= p.deniedFor
	case p.refusedFor > 0:
		return at.Elapsed+at.Pause <= p.refusedFor
	default:
		return p.refusals == 0 || at.Tries < p.refusals
	}
}
