package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

type recordFlags struct {
	store.KeyFlags
	store.Flags
}

func (o *recordFlags) add(f *flag.FlagSet) {
	o.KeyFlags.Add(f)
	o.Flags.Add(f)
	o.AddView(f)
}

func (o *recordFlags) find(ctx context.Context, c *cli.Call, w store.Wanted) (*store.Store, *record.Record, error) {
	t, err := o.Open(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	r, err := t.Find(ctx, w, store.NewProgress(c.Terminal, false))
	return t, r, err
}

func inspect(ctx context.Context, c *cli.Call) error {
	var o recordFlags
	o.add(c.FlagSet)
	data := c.Bool("data", false, "show the stored result too: it may be personal data")
	w, err := o.Wanted(c)
	if err != nil {
		return err
	}
	t, r, err := o.find(ctx, c, w)
	if err != nil {
		return err
	}
	undo := r.Saga() // which completes the steps
	now := t.Now()
	s := r.Whole(now.Add(-o.Skew))
	switch {
	case !*data || s.SealedWith != "":
	case json.Valid(r.Data):
		s.Unavailable, s.Result = r.Unavailable, r.Data
	default:
		s.Unavailable, s.ResultBytes = r.Unavailable, r.Data
	}
	s.Saga = undo
	if o.JSON {
		return cli.WriteJSON(c.Out, s)
	}
	r.Print(c.Out, now, now.Add(-o.Skew))
	if text := r.Result(); *data && text != "" {
		fmt.Fprintf(c.Out, "\n%s\n", text)
	}
	fmt.Fprintf(c.Out, "\n%s\n", r.Advice(s.State))
	if arn, owns := r.Execution(); owns && r.Status == driver.InProgress {
		fmt.Fprintf(c.Out, "A durable execution owns it: %s.\nBefore a release, stop the execution: %s.\n", cli.Printable(cmp.Or(arn, "its ARN is not stored, as its function has no Service")), record.LastInvocation)
	}
	return nil
}
