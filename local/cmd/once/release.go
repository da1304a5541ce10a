package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const aboutRelease = `
Has the next call with the key run again.

The record stays: its lease ends, its owner goes, and one attempt is given
back, so that the key runs once more even where its MaxAttempts were used up.
Attempts go on counting, and the results of finished steps and the payload's
fingerprint are kept. A process that still runs can no longer record its
result, and a delayed copy of its claim finds no place.

--delete removes the item instead, for a finished record, or one that should
be used with another payload. Processes with a cache (CacheEntries) replay a
finished result until its retention ends, whatever the table says.

A record whose lease is live is refused without --force: its owner runs, and
its effect and that of the next call will both happen.
`

func release(ctx context.Context, to terminal, args []string) error {
	var o writeFlags
	f := newFlags(to, "release", aboutRelease)
	o.add(f)
	remove := f.Bool("delete", false, "delete the item, with its attempts, steps and result")
	id, err := o.id(f, args)
	if err != nil {
		return err
	}
	t, r, err := o.read(ctx, id)
	if err != nil {
		return err
	}
	if err := o.mayRelease(t, r, *remove); err != nil {
		return err
	}
	if *remove {
		return o.settle(ctx, to, t, r, &edit{}, "The item will be deleted: the next call runs as the first one.", "deleted")
	}
	return o.settle(ctx, to, t, r, t.releaseOf(r), "It will be released: the next call runs it again.", "released")
}

func (o *writeFlags) mayRelease(t *table, r *record, remove bool) error {
	switch s := o.state(t, r); {
	case s == unknown:
		return endf(codeRefused, "the item is not a record: its status is %s; nothing was written", printable(r.status))
	case len(r.problems) > 0 && !remove:
		return unreadable(r)
	case (s == running || s == leaseless) && !o.force:
		return o.alive(r)
	case s == released && r.used() <= 0 && !remove:
		// Another attempt given back would be one that was never made.
		return endf(codeRefused, "it is released already, and no attempt of it counts: the next call runs it; nothing was written")
	case r.status != "INPROGRESS" && !remove:
		return endf(codeRefused, "the record is finished (%s): calls get what it holds. To have the work done again, --delete it; nothing was written", r.status)
	case r.status != "INPROGRESS" && s != over && !o.force:
		return endf(codeRefused, "the work of this record is finished (%s), and would be done again; --force if that is meant; nothing was written", r.status)
	case remove && len(r.steps) > 0 && !o.force:
		return endf(codeRefused, "the record holds the results of %d finished steps, which would run again; release it without --delete, or with --force; nothing was written", len(r.steps))
	}
	return nil
}

// releaseOf is what the core writes when it gives an attempt back.
func (t *table) releaseOf(r *record) *edit {
	e := &edit{set: map[string]types.AttributeValue{t.attr.Lease: number(0)}}
	if r.used() > 0 {
		e.set[t.attr.Refunds] = number(r.refunds + 1)
	}
	if r.owner != "" {
		e.remove = []string{t.attr.Owner}
	}
	return e
}
