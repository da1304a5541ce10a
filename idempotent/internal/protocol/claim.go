package protocol

import (
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// Verdict is the reaction of a claim to the record that it met.
type Verdict uint8

const (
	ClaimAnew     Verdict = iota // there is no record: create one
	RunHandler                   // the record is ours
	ReplayRecord                 // it is finished
	RefuseReuse                  // it was made for a different payload
	AwaitOwner                   // a different owner is running
	TakeOver                     // the lease of a different owner has lapsed
	OutcomeLost                  // it has lapsed, and no attempt is left
	KeyForgotten                 // it has lapsed, and a provider may know its keys no more
	RefuseLate                   // there is none, and the claimant makes none
	RefuseUnknown                // its status is none that we know
)

// A Claimant is a call that asks for a record.
type Claimant struct {
	Owner       string // its token
	Fingerprint string
	// A record that expired before Cutoff is gone, and a lease that ended before it has
	// lapsed.
	Cutoff time.Time
	// End is when a handler that begins now must have ended, and ProviderMemory how long
	// after a record began that may be; 0 is no limit.
	End            time.Time
	ProviderMemory time.Duration
	// After MaxAttempts attempts that count, there are no more; 0 is no limit.
	MaxAttempts int
	// OnlyTakesOver reports that the claimant makes no record where there is none.
	OnlyTakesOver bool
}

// Decide returns the reaction of the claimant to the record that it met.
func (c Claimant) Decide(met driver.Record) Verdict {
	ours := met.Owner != "" && met.Owner == c.Owner
	anew := ClaimAnew
	if c.OnlyTakesOver {
		anew = RefuseLate
	}
	switch {
	case met.Status == driver.Absent:
		return anew
	case met.Status == driver.InProgress && ours:
		// The answer to an earlier copy of our claim was lost.
		return RunHandler
	case met.Expired(c.Cutoff):
		// A store may return an expired record: one that it read after a
		// different kind of conflict, or for a call that waits.
		return anew
	case met.Fingerprint != "" && c.Fingerprint != "" && met.Fingerprint != c.Fingerprint:
		// Whatever the status: a retry of the first payload may be on its
		// way, and it must not find the second's record.
		return RefuseReuse
	case met.Status == driver.Completed || met.Status == driver.Failed:
		return ReplayRecord
	case met.Status != driver.InProgress:
		return RefuseUnknown
	case !met.Lapsed(c.Cutoff):
		// Also without any lease: the record of a different library is alive until
		// its expiration, and then Create replaces it.
		return AwaitOwner
	case c.MaxAttempts > 0 && met.Used() >= int64(c.MaxAttempts):
		return OutcomeLost
	case c.ProviderMemory > 0 && !met.Began.IsZero() && c.End.After(met.Began.Add(c.ProviderMemory)):
		return KeyForgotten
	default:
		return TakeOver
	}
}
