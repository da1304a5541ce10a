package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/cmd/once/internal/bulk"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/handlers"
)

// An action is that of a command on one record, or on all of a selection.
type action struct {
	record.Action
	stated *record.Statement // nil if one record does not keep it
	read   func(yes bool) error
	// call has a function finish the record, in place of a write.
	call func(ctx context.Context, o *store.Flags, id string) (handlers.ResumeReport, error)
}

func (a *action) toMany(ctx context.Context, c *cli.Call) error {
	many := &bulk.Flags{Statement: a.stated}
	if a.stated == nil {
		many.Statement = &record.Statement{}
	}
	b := &bulk.Action{Action: a.Action, Read: a.read}
	if a.call != nil {
		b.Call = func(ctx context.Context, id string) (bool, error) {
			report, err := a.call(ctx, &many.Flags, id)
			return report.Complete, err
		}
	}
	return many.Run(ctx, c, b)
}

type writeFlags struct {
	recordFlags
	yes, force bool
}

// act carries out an action on one record, or on all of a selection.
func act(ctx context.Context, c *cli.Call, a *action) error {
	if c.Many {
		return a.toMany(ctx, c)
	}
	var o writeFlags
	o.add(c.FlagSet)
	c.BoolVar(&o.yes, "yes", false, "do not ask")
	if a.call == nil {
		c.BoolVar(&o.force, "force", false, "do it although the record's state speaks against it")
	}
	if a.stated != nil {
		a.stated.Add(c.FlagSet)
	}
	named, err := o.Wanted(c)
	switch {
	case err != nil:
		return err
	case c.Given("by") && a.stated.By == "" || c.Given("reason") && a.stated.Reason == "":
		return cli.Endf(cli.CodeUsage, "--by or --reason is empty; is a variable unset?")
	}
	if a.read != nil {
		if err := a.read(o.yes); err != nil {
			return err
		}
	}
	t, r, err := o.find(ctx, c, named)
	if err != nil {
		return err
	}
	against, err := a.May(r, t.Now(), o.Skew)
	switch {
	case err != nil:
		return err
	case len(against) > 0 && !o.force:
		return against[0].Refusal()
	}
	w, err := a.Write(r, t.Now(), o.Skew)
	if err != nil {
		return err
	}
	if err := o.ask(ctx, c.Terminal, t, r, w, against); err != nil {
		return err
	}
	if a.call == nil {
		return o.write(ctx, c.Terminal, t, r, w)
	}
	report, err := a.call(ctx, &o.Flags, r.ID)
	if err != nil {
		return err
	}
	return resumed(c.Out, report, o.JSON)
}

// ask shows the record and the change. It repeats the objections that --force overrides:
// a person who was refused may set it as a reflex.
func (o *writeFlags) ask(ctx context.Context, to cli.Terminal, t *store.Store, r *record.Record, w record.Write, overridden []record.Objection) error {
	now := t.Now()
	r.Print(to.Err, now, now.Add(-o.Skew))
	fmt.Fprintf(to.Err, "\n%s\n", w.What)
	for _, but := range overridden {
		fmt.Fprintf(to.Err, "With --force, although %s.\n", but.Reason)
	}
	if o.yes {
		return nil
	}
	return to.Confirm(ctx)
}

func (o *writeFlags) write(ctx context.Context, to cli.Terminal, t *store.Store, r *record.Record, w record.Write) error {
	now := t.Now()
	before := now.Add(-o.Skew)
	changed, err := t.Write(ctx, r, w.Change)
	if err != nil {
		var end *cli.Ending
		switch {
		case changed == nil && errors.As(err, &end) && end.Code == cli.CodeChanged:
			fmt.Fprint(to.Err, "\nIt is gone.\n")
		case changed != nil:
			fmt.Fprint(to.Err, "\nIt is now:\n")
			changed.Print(to.Err, now, before)
		}
		return err
	}
	if !o.JSON {
		_, err := fmt.Fprintf(to.Out, "%s: %s\n", w.Done, cli.Printable(r.ID))
		return err
	}
	result := struct {
		Done   string        `json:"done"`
		Before *record.Shown `json:"before"`
		After  *record.Shown `json:"after,omitempty"`
	}{Done: w.Done, Before: r.Whole(before)}
	if changed != nil {
		result.After = changed.Whole(before)
	}
	return cli.WriteJSON(to.Out, result)
}

const aboutRelease = `
Has the next call with the key run again. The record stays: its lease ends, its owner is
removed, and one attempt is refunded, so that a key whose MaxAttempts were just used up
runs once more. Steps and fingerprint stay. A process that still runs can record its
result if no other call has taken over by then.

The record forgets when its work began: under ProviderMemory, the next call runs as a
first attempt. A provider that has forgotten the key of an effect repeats it, so find
out first whether the effect happened.

--delete removes the item instead. Use it for a finished record, or for a key that is to
be used with a different payload. A delayed copy of a claim can then write the record
again. Processes with a cache (CacheEntries) replay a finished result until its
retention ends.

release refuses a record whose lease is live, unless --force is set: its owner runs, and
both its effect and that of the next call will happen. So it does for a durable
execution, which may be paused. Stop the execution first, and wait: its last invocation
may still run.
`

func release(ctx context.Context, c *cli.Call) error {
	var o record.Release
	c.BoolVar((*bool)(&o), "delete", false, "delete the item, with its attempts, steps and result")
	return act(ctx, c, &action{Action: &o})
}

const aboutRedact = `
Removes what a finished record stores about a person, and keeps its guarantee: the
result, or the text of the error, goes; the status, times, attempts, type and code of
the error, and the hashes of key and payload stay. Calls with the key run nothing, and
get a ResultUnavailableError, or over HTTP a problem that says it. A failure stays
permanent. The id of a Key.Record is no hash, and stays; a failure that a version
without endings stored loses its type.

An object in Payloads is named by its content, and further records may have the same:
redact names it, and deletes none. Functions with a cache (CacheEntries) replay the
result until their processes end. Backups, logs, and the messages of queues and of the
outbox keep what they have.

A durable execution that its service replays runs its handler again, as it does without
a result: stop such executions first. A record in progress is refused: its next attempt
needs the steps and the request that it stores.
`

func redact(ctx context.Context, c *cli.Call) error {
	var o record.Redaction
	return act(ctx, c, &action{Action: &o, stated: &o.Statement})
}
