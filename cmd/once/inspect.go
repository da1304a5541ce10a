package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"time"
)

// recordFlags are the flags of the commands on one record.
type recordFlags struct {
	keyFlags
	storeFlags
	skew time.Duration
	json bool
}

func (o *recordFlags) add(f *flag.FlagSet) {
	o.keyFlags.add(f)
	o.storeFlags.add(f)
	durationVar(f, &o.skew, "clock-skew", time.Second, "Config.ClockSkew of the functions, a `duration`: a lease is live for so much longer")
	f.BoolVar(&o.json, "json", false, "write JSON")
}

// read opens the store and reads the record that w names.
func (o *recordFlags) read(ctx context.Context, to terminal, f *flag.FlagSet, w wanted) (*store, *record, error) {
	if o.skew < 0 {
		return nil, nil, errSkew
	}
	t, err := o.open(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	r, err := t.find(ctx, w, newProgress(to, false))
	return t, r, err
}

// A negative skew would end leases early.
var errSkew = endf(codeUsage, "--clock-skew is negative")

func inspect(ctx context.Context, to terminal, args []string) error {
	var o recordFlags
	f := newFlags(to, "inspect", "Shows one record, and what can be done about it.")
	o.add(f)
	data := f.Bool("data", false, "show the stored result too: it may be personal data")
	w, err := o.wanted(f, args)
	if err != nil {
		return err
	}
	t, r, err := o.read(ctx, to, f, w)
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
		return writeJSON(to.out, s)
	}
	r.print(to.out, now, now.Add(-o.skew))
	undo.print(to.out)
	switch {
	case !*data:
	case s.Payload != "":
		fmt.Fprintf(to.out, "\nno result here: it is kept elsewhere, and once fetches nothing\n")
	case s.SealedWith != "":
		fmt.Fprintf(to.out, "\nno result: it is sealed, and once has no keys\n")
	case s.Result != nil:
		fmt.Fprintf(to.out, "\n%s\n", s.Result)
	case s.ResultBytes != nil:
		fmt.Fprintf(to.out, "\n%q\n", s.ResultBytes)
	case s.Unavailable != "":
		fmt.Fprintf(to.out, "\nno result: %s\n", s.Unavailable)
	}
	fmt.Fprintf(to.out, "\n%s\n", advice(s.State, r.undoing))
	return nil
}

// advice returns how a record goes on, and how a person can change that.
func advice(s state, undoing bool) string {
	switch s {
	case running:
		return "Somebody runs it. Calls are refused, or wait, until the lease ends."
	case leaseless:
		return "It has no lease, as Powertools writes it outside of a time limit: it blocks calls until it expires.\nIf nobody runs it, release it."
	case lapsed, released:
		if undoing {
			return "It has failed for good. The next call goes on undoing its steps, and stores the failure when all are undone."
		}
		return "The next call runs it again, unless its MaxAttempts are used up: then calls get an OutcomeUnknownError.\n" +
			"In that case find out what was done. \"once release\" has it run again; \"once resolve\" stores what calls get instead."
	case completed, failed:
		return "Calls get the stored result, or error, until it expires."
	case over:
		return "Its retention has ended: the next call runs as if it were not there."
	default:
		return "It is no record that Once can read: calls fail. Look at the item, and at --attribute and --table."
	}
}
