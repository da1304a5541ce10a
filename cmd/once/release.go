package main

import (
	"context"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
)

const aboutRelease = `
Has the next call with the key run again.

The record stays: its lease ends, its owner is removed, and one attempt is
refunded, so that a key whose MaxAttempts were just used up runs once more.
Attempts still count, and the results of finished steps and the payload's
fingerprint stay. A process that still runs can record its result if no other
call has taken over by then. A delayed copy of its claim writes nothing.

The record forgets when its work began: under ProviderMemory, the next call runs
as a first attempt. A provider that has forgotten the key of an effect repeats it,
so find out first whether the effect happened.

--delete removes the item instead. Use it for a finished record, or for a key
that is to be used with another payload. A delayed copy of a claim can then
write the record again. Processes with a cache (CacheEntries) replay a finished
result until its retention ends.

release refuses a record whose lease is live, unless --force is set: its owner
runs, and both its effect and that of the next call will happen. So it does for
a durable execution, which may be paused. Stop the execution first, and wait:
its last invocation may still run.
`

func release(ctx context.Context, c *call) error {
	var o writeFlags
	o.add(c.FlagSet)
	remove := c.Bool("delete", false, "delete the item, with its attempts, steps and result")
	t, r, err := o.read(ctx, c)
	if err != nil {
		return err
	}
	if err := o.mayRelease(t, r, *remove); err != nil {
		return err
	}
	if *remove {
		what := "The item will be deleted: the next call runs as the first one."
		if r.Status == driver.InProgress {
			what += "\nA delayed copy of its claim can bring it back; a release without --delete leaves no place for one."
		}
		return o.write(ctx, c.terminal, t, r, driver.Change{Release: driver.ReleaseDelete}, what, "deleted")
	}
	next := "runs it again"
	if undo := r.saga(); undo != nil { // which also completes the steps
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
	return o.write(ctx, c.terminal, t, r, change, what, "released")
}

func (o *writeFlags) mayRelease(t *store, r *record, remove bool) error {
	s, all, err := o.appraise(t, r, remove)
	switch {
	case err != nil:
		return err
	case s == released && r.Used() <= 0 && !remove:
		// There is no attempt left to refund.
		return endf(codeRefused, "it is released already, and none of its attempts counts: the next call runs it; nothing was written")
	case r.Status != driver.InProgress && !remove:
		return endf(codeRefused, "the record is finished (%s), and calls get its result. To have the work done again, use --delete --force; nothing was written", r.Status)
	}
	if remove {
		all = append(all, againstDeletion(r, s)...)
	}
	return o.weigh(all)
}

func againstDeletion(r *record, s state) (all []objection) {
	if r.Status != driver.InProgress && s != over {
		all = append(all, objection{fmt.Sprintf("the work of this record is finished (%s), and would be done again", r.Status), "--force if that is meant"})
	}
	if n := len(r.steps); n > 0 {
		all = append(all, objection{fmt.Sprintf("the record contains the results of %d finished steps, which would run again", n), "release it without --delete, or with --force"})
	}
	if r.Status == driver.InProgress && s != over && (r.Attempt > 1 || r.neverExpires()) {
		all = append(all, objection{"the record limits the attempts of its key, which would start at one again", "release it without --delete, or with --force"})
	}
	return all
}
