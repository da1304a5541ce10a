package idempotent

import "time"

// policy is how one kind of write is repeated, and what follows from the record
// that it meets. The policies below are all writes of the protocol but the
// claim, which has rules of its own: see decide.
type policy struct {
	// outages and refusals are how many tries there are while the store cannot
	// be reached, and while it refuses. 0 is as many as the time allows.
	outages, refusals int
	// refusedFor is how long a refusal is repeated, in place of refusals.
	refusedFor time.Duration

	on [standings]ruling

	// atomic writes carry an attachment, or settle one that did.
	atomic bool
	// unfenced writes may be applied after a later try was refused.
	unfenced bool
	// mayBeLost is for a release: met after a lost answer, another owner is a
	// successor of it.
	mayBeLost bool
	// keepsSteps turns a delete into a release where steps are met.
	keepsSteps bool
	// sameAttempt is for writes that a released record of another attempt ends.
	sameAttempt bool
	// fits is for writes that may find no room in the record.
	fits bool
}

const maxReleases = 3

var (
	// A completion never stops early: the work is done, and stopping has it
	// done again. That also goes for refusals, as of credentials that have just
	// run out. Whatever nobody else owns is finished.
	finishing = policy{
		on: [standings]ruling{ours: again, gone: recreate, reused: yield, finished: takeTheirs, abandoned: adopt, advanced: yield, foreign: yield},
	}

	// After a transaction was sent nothing is recreated: it may have been
	// committed, and its record removed since.
	finishingAfterCommit = policy{
		on: [standings]ruling{ours: again, gone: vanished, reused: yield, finished: takeTheirs, abandoned: adopt, advanced: yield, foreign: yield},
	}

	// A release may be lost: the lease then ends by itself.
	releasing = policy{
		outages: maxReleases, refusals: maxReleases, mayBeLost: true, keepsSteps: true,
		on: [standings]ruling{ours: again, gone: done, reused: yield, finished: takeTheirs, abandoned: done, advanced: done, foreign: yield},
	}

	// A commit leaves a record that is no longer ours to others. Out of tries,
	// it is settled.
	committing = policy{
		refusals: maxReleases, atomic: true,
		on: [standings]ruling{ours: again, gone: vanished, reused: vanished, finished: takeTheirs, abandoned: notWritten, advanced: notWritten, foreign: yield},
	}

	// A commit whose outcome is not known is settled by a release that is
	// fenced as it was: one of the two comes too late.
	settling = committing

	// The finished record of a run without a claim, with its attachment.
	creating = policy{
		refusals: maxReleases, unfenced: true,
		on: [standings]ruling{ours: landed, gone: another, reused: another, finished: another, abandoned: another, advanced: another, foreign: another},
	}

	// An attachment alone meets no record.
	committingAlone = policy{refusals: maxReleases, unfenced: true}

	// A claim under which nothing ran is given back in one try: without it the
	// lease lapses by itself.
	unclaiming = policy{
		outages: 1, refusals: 1,
		on: [standings]ruling{ours: notWritten, gone: done, reused: done, finished: done, abandoned: done, advanced: done, foreign: done},
	}

	// To reclaim a record is to release it, and then to take it over with a
	// new owner.
	reclaimRelease = policy{
		outages: maxReleases, refusals: maxReleases, sameAttempt: true,
		on: [standings]ruling{ours: again, gone: yield, reused: yield, finished: yield, abandoned: done, advanced: done, foreign: yield},
	}
	reclaimTakeover = policy{
		refusals: maxReleases, sameAttempt: true,
		on: [standings]ruling{ours: done, gone: yield, reused: yield, finished: yield, abandoned: again, advanced: again, foreign: yield},
	}

	// A step that is refused is repeated for long enough for credentials that
	// ran out to be renewed. A heartbeat that goes well could keep it going for
	// ever.
	stepping = policy{
		refusedFor: 30 * time.Second, fits: true,
		on: [standings]ruling{ours: again, gone: yield, reused: yield, finished: yield, abandoned: yield, advanced: yield, foreign: yield},
	}
)

// once is p for a call that failed open: the caller chose to go on without the
// store, which gets one try.
func (p policy) once() *policy {
	p.outages, p.refusals = 1, 1
	return &p
}
