package record

import (
	"fmt"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

// Objection is a reason against a write, which --force overrides.
type Objection struct{ Reason, instead string }

// Refusal is the error of a write that the objection keeps from happening.
func (o Objection) Refusal() error {
	return cli.Endf(cli.CodeRefused, "%s; %s; nothing was written", o.Reason, o.instead)
}

// appraise returns the state of a record, with the objections against any write to it:
// its owner may run. The error is for an item that must not be written at all. Unless it
// is deleted, calls have to read it afterwards.
func (r *Record) appraise(now time.Time, skew time.Duration, deleted bool) (s State, all []Objection, err error) {
	switch r.Status {
	case driver.InProgress, driver.Completed, driver.Failed:
		s = r.StateAt(now.Add(-skew))
	default: // expired or not, it is no record
		return s, nil, cli.Endf(cli.CodeRefused, "the item is not a record: its status is %s; nothing was written", cli.Printable(string(r.Status)))
	}
	arn, owns := r.Execution()
	switch {
	case len(r.Problems) > 0 && !deleted:
		err = cli.Endf(cli.CodeRefused, "calls cannot read the record, and could not read it afterwards: %s; correct the item by hand, or release it with --delete; nothing was written", strings.Join(r.Problems, ", "))
	case s == Leaseless:
		all = []Objection{{"the record has no lease, so that nobody can tell whether its owner runs", "--force if you know that it does not"}}
	case s == Running: // until the clock skew has passed as well
		until := r.Lease.Add(skew + time.Second - 1).Truncate(time.Second) // whole seconds, rounded up
		all = []Objection{{"somebody runs it until " + cli.Stamp(until), "wait, or --force if you know that nobody does"}}
		if owns {
			all = []Objection{{"a durable execution owns it until " + cli.Stamp(until) + "; " + LastInvocation, "stop the execution, wait for its last invocation, and then --force"}}
		}
	case s == Lapsed && arn != "":
		// The service of durable executions may have stopped its clock: a call asks it
		// before it takes over.
		all = []Objection{{"a durable execution owns it, which may be paused and go on, whatever its lease; " + LastInvocation, "stop the execution that its owner names, wait for its last invocation, and then --force"}}
	}
	return s, all, err
}

// MayRelease returns the objections against a release, or why there can be none. remove is for
// the deletion of the item.
func (r *Record) MayRelease(now time.Time, skew time.Duration, remove bool) ([]Objection, error) {
	s, all, err := r.appraise(now, skew, remove)
	switch {
	case err != nil:
		return nil, err
	case s == Released && r.Used() <= 0 && !remove:
		// There is no attempt left to refund.
		return nil, cli.Endf(cli.CodeRefused, "it is released already, and none of its attempts counts: the next call runs it; nothing was written")
	case r.Status != driver.InProgress && !remove:
		return nil, cli.Endf(cli.CodeRefused, "the record is finished (%s), and calls get its result. To have the work done again, use --delete --force; nothing was written", r.Status)
	}
	if remove {
		all = append(all, againstDeletion(r, s)...)
	}
	return all, nil
}

func againstDeletion(r *Record, s State) (all []Objection) {
	if r.Status != driver.InProgress && s != Over {
		all = append(all, Objection{fmt.Sprintf("the work of this record is finished (%s), and would be done again", r.Status), "--force if that is meant"})
	}
	if n := len(r.steps); n > 0 {
		all = append(all, Objection{fmt.Sprintf("the record contains the results of %d finished steps, which would run again", n), "release it without --delete, or with --force"})
	}
	if r.Status == driver.InProgress && s != Over && (r.Attempt > 1 || r.NeverExpires()) {
		all = append(all, Objection{"the record limits the attempts of its key, which would start at one again", "release it without --delete, or with --force"})
	}
	return all
}

// MayResolve returns the objections against an operator's outcome, or why there can be none:
// a response of package httpapi, or a result or failure.
func (r *Record) MayResolve(now time.Time, skew time.Duration, response, done bool) ([]Objection, error) {
	_, all, err := r.appraise(now, skew, false)
	switch {
	case err != nil:
		return nil, err
	case r.Status != driver.InProgress && !r.Resolved():
		return nil, cli.Endf(cli.CodeRefused, "the record is finished (%s), and not by an operator: some callers may have its result already, and all must get the same; nothing was written", r.Status)
	case response && r.Fingerprint == "":
		return nil, cli.Endf(cli.CodeRefused, "the record has no fingerprint, as every record of package httpapi has: its callers could not read an HTTP response; use --data or --no-result; nothing was written")
	}
	if r.undoing {
		all = append(all, Objection{"it has failed permanently, and its steps are being undone: the others would stay done", "--force if you have undone them"})
	}
	if r.foreign() && !done {
		all = append(all, Objection{"it is a record of another library, such as Powertools, which has no FAILED: Python raises on it", "--force if only Once reads it"})
	}
	return all, nil
}

// MayResume returns an error for a record that a function of handlers.Resume would leave.
func (r *Record) MayResume(before time.Time) error {
	s := r.StateAt(before)
	_, owned := r.Execution()
	refuse := func(format string, args ...any) error {
		return cli.Endf(cli.CodeRefused, "%s: %s; nothing was run", cli.Printable(r.ID), fmt.Sprintf(format, args...))
	}
	switch {
	case r.Status != driver.InProgress, s == Over:
		return refuse("the record is not in progress (%s)", s)
	case owned:
		return refuse("a durable execution owns it, and goes on by itself")
	case s != Lapsed && s != Released:
		return refuse("somebody may run it: its state is %s", s)
	case r.Request == nil:
		return refuse("its request is not stored, as it was claimed without Config.Resume: repeat the call, or resolve the record")
	}
	return nil
}
