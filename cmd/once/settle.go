package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// writeFlags are the flags of the commands that write.
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

// state looks at the status first: an expired item that is not a record must not
// be written either.
func (o *writeFlags) state(t *store, r *record) state {
	switch r.Status {
	case driver.InProgress, driver.Completed, driver.Failed:
		return r.at(t.now().Add(-o.skew))
	default:
		return unknown
	}
}

// objection is a reason against a write, which --force overrides.
type objection struct{ reason, instead string }

// alive returns the objection against a write to a record whose owner may run. Calls
// take a lease for live until the clock skew has passed as well.
func alive(r *record, skew time.Duration) objection {
	if r.Lease.IsZero() {
		return objection{"the record has no lease, so that nobody can tell whether its owner runs", "--force if you know that it does not"}
	}
	until := r.Lease.Add(skew + time.Second - 1).Truncate(time.Second) // whole seconds, rounded up
	return objection{"somebody runs it until " + stamp(until), "wait, or --force if you know that nobody does"}
}

// paused returns the objection against a write to a record of a durable execution whose
// service may have stopped its clock: a call asks the service before it takes over.
func paused() objection {
	return objection{"a durable execution owns it, which may be paused and go on, whatever its lease", "--force once you have stopped the execution that its owner names"}
}

// isNamedExecution reports whether the owner contains the name of a durable execution.
func (r *record) isNamedExecution() bool {
	return strings.HasPrefix(r.Owner, "execution-") && strings.Contains(r.Owner, ":")
}

// weigh returns an error for the first objection. settle repeats the objections
// that --force overrides, as it may be the reflex of a person who was refused.
func (o *writeFlags) weigh(all []objection) error {
	if len(all) > 0 && !o.force {
		return endf(codeRefused, "%s; %s; nothing was written", all[0].reason, all[0].instead)
	}
	o.overridden = all
	return nil
}

// unreadable is the error for a write that would leave a record that calls cannot
// read.
func unreadable(r *record) error {
	return endf(codeRefused, "calls cannot read the record, and could not read it afterwards: %s; correct the item by hand, or release it with --delete; nothing was written", strings.Join(r.Problems, ", "))
}

// settle shows the record, asks for confirmation, writes, and prints what it did.
func (o *writeFlags) settle(ctx context.Context, to terminal, t *store, r *record, c driver.Change, what, done string) error {
	now := t.now()
	before := now.Add(-o.skew)
	r.print(to.err, now, before)
	fmt.Fprintf(to.err, "\n%s\n", what)
	for _, but := range o.overridden {
		fmt.Fprintf(to.err, "With --force, although %s.\n", but.reason)
	}
	if !o.yes {
		fmt.Fprint(to.err, "Go on? [y/N] ")
		if !confirmed(ctx, to.in) {
			return endf(codeDeclined, "not confirmed; nothing was written")
		}
	}
	changed, err := t.settle(ctx, r, c)
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
		Before shown  `json:"before"`
		After  *shown `json:"after,omitempty"`
	}{Done: done, Before: r.whole(before)}
	if changed != nil {
		s := changed.whole(before)
		result.After = &s
	}
	return writeJSON(to.out, result)
}

// confirmed reads a yes. An interrupt ends the wait for it, but not the read,
// which ends with the process.
func confirmed(ctx context.Context, in io.Reader) bool {
	answers := make(chan string, 1)
	go func() {
		answer, err := bufio.NewReader(in).ReadString('\n')
		if err != nil {
			answer = ""
		}
		answers <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case answer := <-answers:
		return ctx.Err() == nil && (answer == "y" || answer == "yes")
	case <-ctx.Done():
		return false
	}
}
