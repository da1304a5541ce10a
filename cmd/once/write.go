package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

type writeFlags struct {
	recordFlags
	yes, force bool
	overridden []objection
}

func (o *writeFlags) add(f *flag.FlagSet) {
	o.recordFlags.add(f)
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.force, "force", false, "do it although the record's state speaks against it")
}

// objection is a reason against a write, which --force overrides.
type objection struct{ reason, instead string }

// appraise returns the state of a record, with the objections against any write to it:
// its owner may run. The error is for an item that must not be written at all. Unless it
// is deleted, calls have to read it afterwards.
func (o *writeFlags) appraise(t *store, r *record, deleted bool) (s state, all []objection, err error) {
	switch r.Status {
	case driver.InProgress, driver.Completed, driver.Failed:
		s = r.at(t.now().Add(-o.skew))
	default: // expired or not, it is no record
		return s, nil, endf(codeRefused, "the item is not a record: its status is %s; nothing was written", printable(string(r.Status)))
	}
	arn, owns := r.execution()
	switch {
	case len(r.Problems) > 0 && !deleted:
		err = endf(codeRefused, "calls cannot read the record, and could not read it afterwards: %s; correct the item by hand, or release it with --delete; nothing was written", strings.Join(r.Problems, ", "))
	case s == leaseless:
		all = []objection{{"the record has no lease, so that nobody can tell whether its owner runs", "--force if you know that it does not"}}
	case s == running: // until the clock skew has passed as well
		until := r.Lease.Add(o.skew + time.Second - 1).Truncate(time.Second) // whole seconds, rounded up
		all = []objection{{"somebody runs it until " + stamp(until), "wait, or --force if you know that nobody does"}}
		if owns {
			all = []objection{{"a durable execution owns it until " + stamp(until) + "; " + lastInvocation, "stop the execution, wait for its last invocation, and then --force"}}
		}
	case s == lapsed && arn != "":
		// The service of durable executions may have stopped its clock: a call asks it
		// before it takes over.
		all = []objection{{"a durable execution owns it, which may be paused and go on, whatever its lease; " + lastInvocation, "stop the execution that its owner names, wait for its last invocation, and then --force"}}
	}
	return s, all, err
}

// weigh returns an error for the first objection. write repeats the objections
// that --force overrides, as it may be the reflex of a person who was refused.
func (o *writeFlags) weigh(all []objection) error {
	if len(all) > 0 && !o.force {
		return endf(codeRefused, "%s; %s; nothing was written", all[0].reason, all[0].instead)
	}
	o.overridden = all
	return nil
}

// write shows the record, asks for confirmation, writes, and prints the result.
func (o *writeFlags) write(ctx context.Context, to terminal, t *store, r *record, c driver.Change, what, done string) error {
	now := t.now()
	before := now.Add(-o.skew)
	r.print(to.err, now, before)
	fmt.Fprintf(to.err, "\n%s\n", what)
	for _, but := range o.overridden {
		fmt.Fprintf(to.err, "With --force, although %s.\n", but.reason)
	}
	if !o.yes {
		if err := to.confirm(ctx); err != nil {
			return err
		}
	}
	changed, err := t.apply(ctx, r, c)
	if err != nil {
		var end *ending
		switch {
		case changed == nil && errors.As(err, &end) && end.code == codeChanged:
			fmt.Fprint(to.err, "\nIt is gone.\n")
		case changed != nil:
			fmt.Fprint(to.err, "\nIt is now:\n")
			changed.print(to.err, now, before)
		}
		return err
	}
	if !o.json {
		_, err := fmt.Fprintf(to.out, "%s: %s\n", done, printable(r.ID))
		return err
	}
	result := struct {
		Done   string `json:"done"`
		Before *shown `json:"before"`
		After  *shown `json:"after,omitempty"`
	}{Done: done, Before: r.whole(before)}
	if changed != nil {
		result.After = changed.whole(before)
	}
	return writeJSON(to.out, result)
}

// confirm asks for a yes, and returns an error without one. An interrupt ends the wait for
// it, but not the read, which ends with the process.
func (t terminal) confirm(ctx context.Context) error { return t.ask(ctx, "nothing was written") }

// ask asks as confirm does. so is what became of the command without a yes.
func (t terminal) ask(ctx context.Context, so string) error {
	fmt.Fprint(t.err, "Go on? [y/N] ")
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(t.in).ReadString('\n') // an answer without its end is none
		answers <- strings.ToLower(answer)
	}()
	select {
	case answer := <-answers:
		if ctx.Err() == nil && strings.HasSuffix(answer, "\n") && slices.Contains([]string{"y", "yes"}, strings.TrimSpace(answer)) {
			return nil
		}
	case <-ctx.Done():
	}
	return endf(codeDeclined, "not confirmed; %s", so)
}
