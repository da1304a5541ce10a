package record

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

// An Action changes a record for a person, alike in a command, a bulk run and the page.
type Action interface {
	// May returns the objections against it, or why it cannot be done.
	May(r *Record, now time.Time, skew time.Duration) ([]Objection, error)
	Write(r *Record, now time.Time, skew time.Duration) (Write, error)
}

// A Write is a change of a record, with two texts for the operator.
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
		all = []Objection{{"the record has no lease, and does not tell whether its owner runs", "--force if you know that it does not"}}
	case s == Running: // until the clock skew has passed as well
		until := r.Lease.Add(skew + time.Second - 1).Truncate(time.Second) // whole seconds, rounded up
		all = []Objection{{"a call runs it until " + cli.Stamp(until), "wait, or --force if you know that no process does"}}
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

// A Release has the next call run again. One that is true deletes the item.
type Release bool

func (o *Release) May(r *Record, now time.Time, skew time.Duration) ([]Objection, error) {
	remove := bool(*o)
	s, all, err := r.appraise(now, skew, remove)
	switch {
	case err != nil:
		return nil, err
	case s == Released && r.Used() <= 0 && !remove:
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

func (o *Release) Write(r *Record, _ time.Time, _ time.Duration) (Write, error) {
	if *o {
		what := "The item will be deleted: the next call runs as the first one."
		if r.Status == driver.InProgress {
			what += "\nA delayed copy of its claim can bring it back; a release without --delete leaves no place for one."
		}
		return Write{driver.Change{Release: driver.ReleaseDelete}, what, "deleted"}, nil
	}
	next := "runs it again"
	if undo := r.Saga(); undo != nil { // which also completes the steps
		next = "goes on undoing its steps, as it has failed for good,"
	}
	change, left := driver.Change{Release: driver.ReleaseKeep}, max(r.Used()-1, 0)
	if r.Used() > 0 {
		change.Release = driver.ReleaseRefund
	}
	what := fmt.Sprintf("It will be released: one attempt is given back, and %d still count against MaxAttempts. The next call %s if MaxAttempts is above that, or not set.", left, next)
	if !r.Began.IsZero() {
		what += "\nIt will have no beginning: for ProviderMemory the next call is a first attempt, and a provider that has forgotten its keys repeats an effect."
	}
	return Write{change, what, "released"}, nil
}

// A Redaction removes a person's data from a record. It states who does so, and why.
type Redaction struct{ Statement }

func (o *Redaction) May(r *Record, now time.Time, skew time.Duration) ([]Objection, error) {
	_, all, err := r.appraise(now, skew, false)
	switch {
	case err != nil:
		return nil, err
	case r.Status == driver.InProgress:
		return nil, cli.Endf(cli.CodeRefused, "the record is in progress, and its next attempt needs what is stored: redact it once it is finished, or resolve it before; nothing was written")
	}
	return all, nil
}

func (o *Redaction) Write(r *Record, _ time.Time, _ time.Duration) (Write, error) {
	what := "It will be redacted: what is stored of its result, " + r.shape() + ", is removed. Until " + cli.Stamp(r.Expires) + ", calls run nothing, and get a ResultUnavailableError."
	if r.NeverExpires() {
		what = "It will be redacted: what is stored of its result, " + r.shape() + ", is removed. Calls run nothing, and get a ResultUnavailableError for ever."
	}
	if r.Payload != "" {
		what += "\nThe object that it names stays, as further records may have the same content. Delete it there."
	}
	return Write{r.Redaction(o.By, o.Reason), what, "redacted"}, nil
}

// A Resumption has a function of handlers.Resume, of this name, run the stored request.
type Resumption string

// May returns an error for a record that the function would leave.
func (o *Resumption) May(r *Record, now time.Time, skew time.Duration) ([]Objection, error) {
	s := r.StateAt(now.Add(-skew))
	_, owned := r.Execution()
	refuse := func(format string, args ...any) ([]Objection, error) {
		return nil, cli.Endf(cli.CodeRefused, "%s: %s; nothing was run", cli.Printable(r.ID), fmt.Sprintf(format, args...))
	}
	switch {
	case r.Status != driver.InProgress, s == Over:
		return refuse("the record is not in progress (%s)", s)
	case owned:
		return refuse("a durable execution owns it, and goes on by itself")
	case s != Lapsed && s != Released:
		return refuse("a call may run it: its state is %s", s)
	case r.Request == nil:
		return refuse("its request is not stored, as it was claimed without Config.Resume: repeat the call, or resolve the record")
	}
	return nil, nil
}

func (o *Resumption) Write(*Record, time.Time, time.Duration) (Write, error) {
	what := cli.Present(" ", "The function", cli.Printable(string(*o)), "will run its stored request as its next attempt, and finish it or undo its steps.")
	return Write{What: what}, nil
}

// A Statement is who acts, and why. A person states both, so that they prove nothing.
type Statement struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (s *Statement) Add(f *flag.FlagSet) {
	f.StringVar(&s.By, "by", "", "the `name` of who does this: journals keep it, and resolved and redacted records 256 bytes of it; it is stated, and so no proof")
	f.StringVar(&s.Reason, "reason", "", "a `text` that says why: journals keep it, and resolved and redacted records 512 bytes of it; no personal data")
}
