package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/attribute"
)

const aboutRelease = `
Has the next call with the key run again.

The record stays: its lease ends, its owner goes, and one attempt is given
back, so that a key runs once more whose MaxAttempts were just used up.
Attempts go on counting, and the results of finished steps and the payload's
fingerprint are kept. A process that still runs records its result all the
same, if no other call has taken over by then. A delayed copy of its claim
finds no place.

--delete removes the item instead, for a finished record, or one that should
be used with another payload. A delayed copy of a claim can then bring the
record back. Processes with a cache (CacheEntries) replay a
finished result until its retention ends, whatever the table says.

A record whose lease is live is refused without --force: its owner runs, and
its effect and that of the next call will both happen.
`

func release(ctx context.Context, to terminal, args []string) error {
	var o writeFlags
	f := newFlags(to, "release", aboutRelease)
	o.add(f)
	remove := f.Bool("delete", false, "delete the item, with its attempts, steps and result")
	w, err := o.wanted(f, args)
	if err != nil {
		return err
	}
	t, r, err := o.read(ctx, to, w)
	if err != nil {
		return err
	}
	if err := o.mayRelease(t, r, *remove); err != nil {
		return err
	}
	if *remove {
		return o.settle(ctx, to, t, r, &edit{}, deletion(r), "deleted")
	}
	next := "runs it again"
	if undo := t.saga(ctx, r); undo != nil { // which says it of the steps, too
		next = "goes on undoing its steps, as it has failed for good,"
	}
	e, left := t.releaseOf(r)
	what := fmt.Sprintf("It will be released: one attempt is given back, and %d still count against MaxAttempts. The next call %s if MaxAttempts is above that, or not set.", left, next)
	return o.settle(ctx, to, t, r, e, what, "released")
}

func deletion(r *record) string {
	what := "The item will be deleted: the next call runs as the first one."
	if r.status == "INPROGRESS" {
		what += "\nA delayed copy of its claim can bring it back; a release without --delete leaves no place for one."
	}
	return what
}

func (o *writeFlags) mayRelease(t *table, r *record, remove bool) error {
	s := o.state(t, r)
	switch {
	case s == unknown:
		return endf(codeRefused, "the item is not a record: its status is %s; nothing was written", printable(r.status))
	case len(r.problems) > 0 && !remove:
		return unreadable(r)
	case s == released && r.used() <= 0 && !remove:
		// Another attempt given back would be one that was never made.
		return endf(codeRefused, "it is released already, and no attempt of it counts: the next call runs it; nothing was written")
	case r.status != "INPROGRESS" && !remove:
		return endf(codeRefused, "the record is finished (%s): calls get what it holds. To have the work done again, use --delete --force; nothing was written", r.status)
	}
	var all []objection
	if s == running || s == leaseless {
		all = append(all, alive(r))
	}
	if remove {
		all = append(all, againstDeletion(r, s)...)
	}
	return o.weigh(all)
}

func againstDeletion(r *record, s state) (all []objection) {
	if r.status != "INPROGRESS" && s != over {
		all = append(all, objection{fmt.Sprintf("the work of this record is finished (%s), and would be done again", r.status), "--force if that is meant"})
	}
	if n := len(r.steps); n > 0 {
		all = append(all, objection{fmt.Sprintf("the record holds the results of %d finished steps, which would run again", n), "release it without --delete, or with --force"})
	}
	if r.status == "INPROGRESS" && s != over && (r.attempt > 1 || r.neverExpires()) {
		all = append(all, objection{"the record is what limits the attempts of its key, which would count from the first again", "release it without --delete, or with --force"})
	}
	return all
}

// releaseOf is what the core writes when it gives an attempt back, and how many
// then count.
func (t *table) releaseOf(r *record) (e *edit, left int64) {
	left = max(r.used()-1, 0)
	e = &edit{set: map[string]types.AttributeValue{t.attr.Lease: attribute.Number(0)}}
	if r.used() > 0 {
		e.set[t.attr.Refunds] = attribute.Number(r.refunds + 1)
	}
	if r.owner != "" {
		e.remove = []string{t.attr.Owner}
	}
	return e, left
}
