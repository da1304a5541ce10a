package protocol

// Run describes the end of a run of the handler, as far as a plan depends on it.
type Run struct {
	// NotRun reports that the handler was not called.
	NotRun bool
	// Failed reports an error of the handler or of its transaction, and Panicked
	// that the handler or an undo function did not return.
	Failed, Panicked bool
	// Permanent and Retryable are the class of the error.
	Permanent, Retryable bool
	// Attached reports that there are writes to commit with the result.
	Attached bool
	// Undoing reports that the call failed for good before, so that its steps are
	// being undone, and Stopped that a step must be undone by this run.
	Undoing, Stopped bool
	// Undone is the result of undoing in this run.
	Undone Undone
	// Unacknowledged reports a step that may not be recorded.
	Unacknowledged bool
	// Leave reports that the next invocation may run under the same claim.
	Leave bool
	// KeepsNoFailures reports that permanent errors are released too.
	KeepsNoFailures bool
}

// Undone is the result of undoing the finished steps.
type Undone uint8

const (
	NotBegun Undone = iota
	AllUndone
	SomeUndone
)

// Plan is the next thing to do after a run.
type Plan uint8

// The plans that change the facts of the run: ask again, unless they end the call.
const (
	Commit      Plan = iota // complete the record together with the attachment
	Create                  // create the completed record, with the attachment
	CommitAlone             // commit the attachment without a record
	Undo                    // undo the finished steps
	UndoOpenly              // undo them without a record
)

// The plans that end the call.
const (
	Complete      Plan = iota + 10
	Fail               // store the failure
	CreateFailure      // create the record with the failure
	Release            // free the key for a retry
	Refund             // and do not count the attempt
	KeepClaim          // the next attempt waits for the lease
	Unclaim            // remove a claim under which nothing ran
	Leave              // the next invocation continues under the claim
	Nothing            // there is no record
)

// Settle returns the plan after a run in the mode m. It is pure. The call asks
// until a plan ends it: after a rejected transaction the run has failed, and
// after an undo it is undone.
func (m Mode) Settle(r Run) Plan {
	succeeded := r.Undone == NotBegun && !r.Failed && !r.Panicked && !r.Undoing && !r.Stopped
	attached := r.Attached || m.Hold == Optimistic
	switch {
	case m.Hold == Bypassed:
		return settleBypassed(r)
	case r.NotRun && m.Hold == Optimistic:
		return Nothing
	case r.NotRun:
		return Unclaim
	case succeeded && !attached:
		return Complete
	case succeeded && m.Hold == Claimed:
		return Commit
	case succeeded:
		return Create
	case r.Undone == AllUndone && m.Hold == Optimistic:
		return CreateFailure
	case r.Undone == AllUndone:
		return Fail
	case r.Leave && m.IsDurable():
		return Leave
	case r.Unacknowledged && (r.Panicked || r.Undone == SomeUndone):
		// The next attempt would repeat the step while its write may arrive.
		return KeepClaim
	case r.Undone == SomeUndone, r.Panicked && (r.Undoing || !r.Stopped):
		return Release
	case r.Undoing, r.Stopped, r.Permanent && !r.KeepsNoFailures:
		return Undo
	case r.Unacknowledged:
		return KeepClaim
	case r.Retryable:
		return Refund
	default:
		return Release
	}
}

// settleBypassed undoes after any permanent error: no record says whether a
// failure is kept.
func settleBypassed(r Run) Plan {
	switch {
	case r.NotRun, r.Panicked, r.Undone != NotBegun:
		return Nothing
	case r.Attached && !r.Failed:
		return CommitAlone
	case r.Failed && r.Permanent:
		return UndoOpenly
	default:
		return Nothing
	}
}
