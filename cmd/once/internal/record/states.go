package record

import (
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func (r *Record) Advice(s State) string {
	if r.next(s) == nextFails {
		s = Unknown
	}
	switch s {
	case Running:
		return "A call runs it. Further ones are refused, or wait, until the lease ends."
	case Leaseless:
		return "It has no lease, as Powertools writes it outside of a time limit: it blocks calls until it expires.\nIf no process runs it, release it."
	case Lapsed, Released:
		resumed := ""
		if r.Request != nil {
			resumed = "\nIts request is stored: \"once resume\" does the same without a caller."
		}
		if r.undoing {
			return "It has failed for good. The next call goes on undoing its steps, and stores the failure when all are undone, unless its MaxAttempts are used up:\n" +
				"then calls get an OutcomeUnknownError, and \"once release\" gives an attempt back." + resumed
		}
		text, when := "The next call runs it again, unless its MaxAttempts are used up: then calls get an OutcomeUnknownError.\n", "In that case"
		if !r.Began.IsZero() {
			text += "Nor does it run if a provider may have forgotten its keys (ProviderMemory): then calls get a KeyForgottenError.\n"
			when = "In both cases"
		}
		return text + when + " find out what was done. \"once release\" has it run again; \"once resolve\" stores what calls get instead." + resumed
	case Completed, Failed:
		if r.Unavailable != "" {
			return "Calls run nothing, and get a ResultUnavailableError until it expires."
		}
		return "Calls get the stored result, or error, until it expires."
	case Over:
		return "Its retention has ended: the next call runs as if it were not there."
	default:
		return "It is no record that Once can read: calls fail. Look at the item, and at --attribute and --table."
	}
}

// Unusable returns why a call with this fingerprint fails by the record, or "" if it does not.
func (r *Record) Unusable(s State, fingerprint string) string {
	switch {
	case s == Over:
	case len(r.Problems) > 0:
		return "calls cannot read its record: " + r.Problems[0]
	case s == Unknown:
		return "the status of its record is not one that calls know"
	case fingerprint != "" && r.Fingerprint != "" && fingerprint != r.Fingerprint:
		return "its record has a different payload"
	}
	return ""
}

// Execution returns the ARN of the durable execution that owns the record, or "" if its
// function does not store one, and whether one owns it.
func (r *Record) Execution() (arn string, owns bool) {
	owner, owns := strings.CutPrefix(r.Owner, "execution-")
	_, arn, _ = strings.Cut(owner, ":")
	return arn, owns
}

const LastInvocation = "stopping an execution does not stop its last invocation, which may still have effects until its next checkpoint, or until the function's timeout (at most 15 min, and 90 min on Managed Instances)"

func (r *Record) Released() bool { return r.Lease.Equal(driver.LeaseEnded) }

type State string

const (
	Running   State = "running"   // a lease is live
	Leaseless State = "leaseless" // in progress without a lease: Powertools'
	Lapsed    State = "lapsed"    // the lease has ended, and no call has taken over
	Released  State = "released"  // released, and no call has claimed it since
	Completed State = "completed"
	Failed    State = "failed"
	Over      State = "over" // retention has ended: the next call runs
	Unknown   State = "unknown"
	// InProgress selects the first four.
	InProgress State = "in-progress"
	// Waiting selects the records that need a person, as far as the record tells: the limits of
	// the function decide whether its next call runs.
	Waiting State = "waiting"
)

// StateAt returns the state as package idempotent sees it. before is the current time,
// moved back by the clock skew.
func (r *Record) StateAt(before time.Time) State {
	switch {
	case r.Status != driver.Absent && r.Expired(before):
		return Over
	case r.Status == driver.Completed:
		return Completed
	case r.Status == driver.Failed:
		return Failed
	case r.Status != driver.InProgress:
		return Unknown
	case r.Lease.IsZero():
		return Leaseless
	case r.Released():
		return Released
	case r.Lapsed(before):
		return Lapsed
	}
	return Running
}

type next string

const (
	nextFails   next = "fails"
	nextReplays next = "replays" // it gets the stored result, or error
	nextRuns    next = "runs"    // unless MaxAttempts or ProviderMemory of its function forbid it
	nextUndoes  next = "undoes"
	nextWaits   next = "waits" // or is refused
	nextAsks    next = "asks"  // the service of durable executions, and then waits or runs
)

func (r *Record) next(s State) next {
	arn, _ := r.Execution()
	switch {
	case len(r.Problems) > 0 && s != Over:
		return nextFails // whatever its status
	case s == Lapsed && arn != "":
		return nextAsks
	}
	switch s {
	case Running, Leaseless:
		return nextWaits
	case Lapsed, Released:
		if r.undoing {
			return nextUndoes
		}
		return nextRuns
	case Over:
		return nextRuns
	case Completed, Failed:
		return nextReplays
	}
	return nextFails
}
