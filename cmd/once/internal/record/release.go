package record

import (
	"fmt"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/driver"
)

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
