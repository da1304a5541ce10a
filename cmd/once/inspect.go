package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"

	"github.com/lambda-once/once/idempotent/driver"
)

type recordFlags struct {
	keyFlags
	storeFlags
}

func (o *recordFlags) add(f *flag.FlagSet) {
	o.keyFlags.add(f)
	o.storeFlags.add(f)
	o.addView(f)
}

// read parses the flags, opens the store and reads the record that they name.
func (o *recordFlags) read(ctx context.Context, c *call) (*store, *record, error) {
	w, err := o.wanted(c)
	if err != nil {
		return nil, nil, err
	}
	return o.find(ctx, c, w)
}

func (o *recordFlags) find(ctx context.Context, c *call, w wanted) (*store, *record, error) {
	t, err := o.open(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	r, err := t.find(ctx, w, newProgress(c.terminal, false))
	return t, r, err
}

func inspect(ctx context.Context, c *call) error {
	var o recordFlags
	o.add(c.FlagSet)
	data := c.Bool("data", false, "show the stored result too: it may be personal data")
	t, r, err := o.read(ctx, c)
	if err != nil {
		return err
	}
	undo := r.saga() // which completes the steps
	now := t.now()
	s := r.whole(now.Add(-o.skew))
	switch {
	case !*data || s.SealedWith != "":
	case json.Valid(r.Data):
		s.Unavailable, s.Result = r.Unavailable, r.Data
	default:
		s.Unavailable, s.ResultBytes = r.Unavailable, r.Data
	}
	s.Saga = undo
	if o.json {
		return writeJSON(c.out, s)
	}
	r.print(c.out, now, now.Add(-o.skew))
	undo.print(c.out)
	switch {
	case !*data:
	case s.Payload != "":
		fmt.Fprintf(c.out, "\nno result here: it is kept elsewhere, and once fetches nothing\n")
	case s.SealedWith != "":
		fmt.Fprintf(c.out, "\nno result: it is sealed, and once has no keys\n")
	case s.Result != nil:
		fmt.Fprintf(c.out, "\n%s\n", s.Result)
	case s.ResultBytes != nil:
		fmt.Fprintf(c.out, "\n%q\n", s.ResultBytes)
	case s.Unavailable != "":
		fmt.Fprintf(c.out, "\nno result: %s\n", s.Unavailable)
	}
	fmt.Fprintf(c.out, "\n%s\n", r.advice(s.State))
	if arn, owns := r.execution(); owns && r.Status == driver.InProgress {
		fmt.Fprintf(c.out, "A durable execution owns it: %s.\nBefore a release, stop the execution: %s.\n", printable(cmp.Or(arn, "its ARN is not stored, as its function has no Service")), lastInvocation)
	}
	return nil
}

// advice returns how a record goes on, and how a person can change that.
func (r *record) advice(s state) string {
	if r.next(s) == nextFails {
		s = unknown
	}
	switch s {
	case running:
		return "Somebody runs it. Calls are refused, or wait, until the lease ends."
	case leaseless:
		return "It has no lease, as Powertools writes it outside of a time limit: it blocks calls until it expires.\nIf nobody runs it, release it."
	case lapsed, released:
		resumed := ""
		if r.Request != nil {
			resumed = "\nIts request is stored: \"once resume\" does the same without a caller."
		}
		if r.undoing {
			return "It has failed for good. The next call goes on undoing its steps, and stores the failure when all are undone." + resumed
		}
		text, when := "The next call runs it again, unless its MaxAttempts are used up: then calls get an OutcomeUnknownError.\n", "In that case"
		if !r.Began.IsZero() {
			text += "Nor does it run if a provider may have forgotten its keys (ProviderMemory): then calls get a KeyForgottenError.\n"
			when = "In both cases"
		}
		return text + when + " find out what was done. \"once release\" has it run again; \"once resolve\" stores what calls get instead." + resumed
	case completed, failed:
		return "Calls get the stored result, or error, until it expires."
	case over:
		return "Its retention has ended: the next call runs as if it were not there."
	default:
		return "It is no record that Once can read: calls fail. Look at the item, and at --attribute and --table."
	}
}
