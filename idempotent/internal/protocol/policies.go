package protocol

import "time"

// A Policy says how one kind of write is repeated, and rules on the
// record that it meets. The policies below are all writes of the protocol. [Claimant.Decide]
// rules on the record that a claim met.
type Policy struct {
	// outages and refusals are the numbers of tries while the store cannot be
	// reached, and while it refuses. 0 means as many as the time allows.
	outages, refusals int
	// refusedFor is how long a refusal is repeated, in place of refusals, and
	// deniedFor how long a denial is. 0 makes no difference.
	refusedFor, deniedFor time.Duration

	on [standings]Ruling

	// atomic writes carry an attachment, or decide on one that did.
	atomic bool
	// unfenced writes may be applied after a later try was refused.
	unfenced bool
	// mayBeLost applies to a release: a new owner met after a lost answer is
	// its successor.
	mayBeLost bool
	// keepsSteps turns a delete into a release where steps are met.
	keepsSteps bool
	// sameAttempt writes stop at a released record of a different attempt.
	sameAttempt bool
	// fits applies to writes that may find no room in the record.
	fits bool
}

const maxReleases = 3

var (
	// A claim, and the extension of an execution's own, has one try: the record
	// that it met is decided on anew.
	Claiming = Policy{
		outages: 1, refusals: 1,
		on: [standings]Ruling{Ours: Landed, Gone: Another, Reused: Another, Finished: Another, Abandoned: Another, Advanced: Another, Foreign: Another},
	}

	// A heartbeat has one try a beat. If it meets our claim with a shorter lease,
	// it conflicted with a different kind of write.
	Extending = Policy{
		outages: 1, refusals: 1,
		on: [standings]Ruling{Ours: NotWritten, Gone: Yield, Reused: Yield, Finished: Yield, Abandoned: Yield, Advanced: Yield, Foreign: Yield},
	}

	// A completion never stops early: the work is done, and stopping has it
	// done again. That also goes for refusals, as of credentials that have just
	// run out. Only a denial ends it: more tries change no permission. It
	// finishes every record that no one else owns.
	Finishing = Policy{
		deniedFor: 30 * time.Second,

		on: [standings]Ruling{Ours: Again, Gone: Recreate, Reused: Yield, Finished: TakeTheirs, Abandoned: Adopt, Advanced: Yield, Foreign: Yield},
	}

	// After a transaction was sent nothing is recreated: it may have been
	// committed, and its record removed since.
	FinishingAfterCommit = Policy{
		deniedFor: 30 * time.Second,

		on: [standings]Ruling{Ours: Again, Gone: Vanished, Reused: Yield, Finished: TakeTheirs, Abandoned: Adopt, Advanced: Yield, Foreign: Yield},
	}

	// A release may be lost: the lease then ends by itself.
	Releasing = Policy{
		outages: maxReleases, refusals: maxReleases, mayBeLost: true, keepsSteps: true,
		on: [standings]Ruling{Ours: Again, Gone: Done, Reused: Yield, Finished: TakeTheirs, Abandoned: Done, Advanced: Done, Foreign: Yield},
	}

	// A commit leaves a record that is no longer ours as it is. Out of tries,
	// it is decided.
	Committing = Policy{
		refusals: maxReleases, atomic: true,
		on: [standings]Ruling{Ours: Again, Gone: Vanished, Reused: Vanished, Finished: TakeTheirs, Abandoned: NotWritten, Advanced: NotWritten, Foreign: Yield},
	}

	// A commit whose outcome is not known is decided by a release that is
	// fenced as it was: only one of the two is applied.
	Deciding = Committing

	// The finished record of a run without a claim, with its attachment.
	Creating = Policy{
		refusals: maxReleases, unfenced: true,
		on: [standings]Ruling{Ours: Landed, Gone: Another, Reused: Another, Finished: Another, Abandoned: Another, Advanced: Another, Foreign: Another},
	}

	// An attachment alone meets no record.
	CommittingAlone = Policy{refusals: maxReleases, unfenced: true}

	// A claim under which nothing ran is removed in one try: otherwise the lease
	// lapses by itself.
	Unclaiming = Policy{
		outages: 1, refusals: 1,
		on: [standings]Ruling{Ours: NotWritten, Gone: Done, Reused: Done, Finished: Done, Abandoned: Done, Advanced: Done, Foreign: Done},
	}

	// To reclaim a record is to release it, and then to take it over with a
	// new owner.
	ReclaimRelease = Policy{
		outages: maxReleases, refusals: maxReleases, sameAttempt: true,
		on: [standings]Ruling{Ours: Again, Gone: Yield, Reused: Yield, Finished: Yield, Abandoned: Done, Advanced: Done, Foreign: Yield},
	}
	ReclaimTakeover = Policy{
		refusals: maxReleases, sameAttempt: true,
		on: [standings]Ruling{Ours: Done, Gone: Yield, Reused: Yield, Finished: Yield, Abandoned: Again, Advanced: Again, Foreign: Yield},
	}

	// A step that is refused is repeated for long enough for credentials that
	// ran out to be renewed. With a working heartbeat it could otherwise repeat
	// for ever.
	Stepping = Policy{
		refusedFor: 30 * time.Second, fits: true,
		on: [standings]Ruling{Ours: Again, Gone: Yield, Reused: Yield, Finished: Yield, Abandoned: Yield, Advanced: Yield, Foreign: Yield},
	}
)

// Once returns p for a call that failed open. The caller chose to continue without
// the store, so that there is only one try.
func (p Policy) Once() *Policy {
	p.outages, p.refusals, p.deniedFor = 1, 1, 0
	return &p
}
