package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

type writeFlags struct {
	recordFlags
	yes, force bool
	overridden []record.Objection
}

func (o *writeFlags) add(f *flag.FlagSet) {
	o.recordFlags.add(f)
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.force, "force", false, "do it although the record's state speaks against it")
}

// weigh returns an error for the first objection. write repeats the objections
// that --force overrides, as it may be the reflex of a person who was refused.
func (o *writeFlags) weigh(all []record.Objection, err error) error {
	switch {
	case err != nil:
		return err
	case len(all) > 0 && !o.force:
		return all[0].Refusal()
	}
	o.overridden = all
	return nil
}

// write shows the record, asks for confirmation, writes, and prints the result.
func (o *writeFlags) write(ctx context.Context, to cli.Terminal, t *store.Store, r *record.Record, w record.Write) error {
	now := t.Now()
	before := now.Add(-o.Skew)
	r.Print(to.Err, now, before)
	fmt.Fprintf(to.Err, "\n%s\n", w.What)
	for _, but := range o.overridden {
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
