package record

import (
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
)

// A Write is a change of a record, with what an operator reads about it.
type Write struct {
	driver.Change
	What string // it does, for the question
	Done string // in a word, once it is written
}

// Release returns the write that has the next call run again. remove is for the deletion of
// the item.
func (r *Record) Release(remove bool) Write {
	if remove {
		what := "The item will be deleted: the next call runs as the first one."
		if r.Status == driver.InProgress {
			what += "\nA delayed copy of its claim can bring it back; a release without --delete leaves no place for one."
		}
		return Write{driver.Change{Release: driver.ReleaseDelete}, what, "deleted"}
	}
	next := "runs it again"
	if undo := r.Saga(); undo != nil { // which also completes the steps
		next = "goes on undoing its steps, as it has failed for good,"
	}
	// One attempt is given back, if any counts.
	change, left := driver.Change{Release: driver.ReleaseKeep}, max(r.Used()-1, 0)
	if r.Used() > 0 {
		change.Release = driver.ReleaseRefund
	}
	what := fmt.Sprintf("It will be released: one attempt is given back, and %d still count against MaxAttempts. The next call %s if MaxAttempts is above that, or not set.", left, next)
	if !r.Began.IsZero() {
		what += "\nIt will have no beginning: for ProviderMemory the next call is a first attempt, and a provider that has forgotten its keys repeats an effect."
	}
	return Write{change, what, "released"}
}
