package record

import (
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

// An Action is what a person does to a record, alike in a command, a bulk run and the page.
type Action interface {
	// May returns the objections against it, or why it cannot be done.
	May(r *Record, now time.Time, skew time.Duration) ([]Objection, error)
	Write(r *Record, now time.Time, skew time.Duration) (Write, error)
}

// A Write is a change of a record, with what an operator reads about it.
type Write struct {
	driver.Change
	What string // it does, for the question
	Done string // in a word, once it is written
}

// Objection is a reason against a write, which --force overrides.
type Objection struct{ Reason, instead string }

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
