package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/lambda-once/once/cmd/once/internal/bulk"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

type writeFlags struct {
	recordFlags
	yes, force bool
}

func (o *writeFlags) add(f *flag.FlagSet) {
	o.recordFlags.add(f)
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.force, "force", false, "do it although the record's state speaks against it")
}

// act does to one record, or to all of a selection, what read has set by the flags. stated is
// nil if one record does not keep it.
func act(ctx context.Context, c *cli.Call, a record.Action, stated *record.Statement, read func(yes bool) error) error {
	if c.Many {
		if stated == nil {
			stated = &record.Statement{}
		}
		return (&bulk.Flags{Statement: stated}).Run(ctx, c, &bulk.Action{Action: a, Read: read})
	}
	var o writeFlags
	o.add(c.FlagSet)
	if stated != nil {
		stated.Add(c.FlagSet)
	}
	named, err := o.Wanted(c)
	switch {
	case err != nil:
		return err
	case c.Given("by") && stated.By == "" || c.Given("reason") && stated.Reason == "":
		return cli.Endf(cli.CodeUsage, "--by or --reason is empty; is a variable unset?")
	}
	if read != nil {
		if err := read(o.yes); err != nil {
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
	return o.write(ctx, c.Terminal, t, r, w, against)
}

// write shows the record, asks for confirmation, writes, and prints the result. It repeats the
// objections that --force overrides, as it may be the reflex of a person who was refused.
func (o *writeFlags) write(ctx context.Context, to cli.Terminal, t *store.Store, r *record.Record, w record.Write, overridden []record.Objection) error {
	now := t.Now()
	before := now.Add(-o.Skew)
	r.Print(to.Err, now, before)
	fmt.Fprintf(to.Err, "\n%s\n", w.What)
	for _, but := range overridden {
		fmt.Fprintf(to.Err, "With --force, although %s.\n", but.Reason)
	}
	if !o.yes {
		if err := to.Confirm(ctx); err != nil {
			return err
		}
	}
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
