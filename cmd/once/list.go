package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const aboutList = `
Lists the records of a table, in no order. It reads the whole table, which
costs half a read unit for each 4 KB of it.

--older-than finds what may need a person: records in progress whose lease
ended so long ago, and those without a lease or released, of which the table
does not say since when.

With --json it writes one object in each line.
`

func list(ctx context.Context, c *call) error {
	var o scanFlags
	o.add(c.FlagSet)
	var older time.Duration
	durationVar(c.FlagSet, &older, "older-than", 0, "only records in progress whose lease ended this `duration` ago or earlier, such as 15m or 7d")
	t, err := o.openAll(ctx, c)
	if err != nil {
		return err
	}
	if older != 0 {
		if o.status == "" {
			o.status = "INPROGRESS"
		}
		if older < 0 || o.status != "INPROGRESS" {
			return endf(codeUsage, "--older-than is a time ago, of records INPROGRESS")
		}
	}
	q := o.query()
	q.Brief = true
	out := bufio.NewWriter(c.out)
	head := o.json
	err = t.scan(ctx, q, newProgress(c.terminal, o.quiet), func(r *record) error {
		before := r.At.Add(-o.skew)
		if older != 0 && !r.Lease.IsZero() && !r.Lapsed(before.Add(-older)) {
			return nil
		}
		if o.json {
			return writeJSON(out, r.json(before))
		}
		if !head {
			header(out)
			head = true
		}
		row(out, r, before)
		return nil
	})
	if err == nil && !head {
		fmt.Fprintln(c.err, "no such records")
	}
	return errors.Join(err, out.Flush())
}

func header(w io.Writer) {
	fmt.Fprintf(w, "%-10s  %-9s  %7s  %-20s  %-20s  %s\n", "STATUS", "STATE", "ATTEMPT", "LEASE", "EXPIRES", "RECORD")
}

func row(w io.Writer, r *record, before time.Time) {
	lease, attempt := stamp(r.Lease), "-"
	if r.released() {
		lease = "-"
	}
	if r.Attempt > 0 {
		attempt = fmt.Sprint(r.Attempt)
	}
	fmt.Fprintf(w, "%-10s  %-9s  %7s  %-20s  %-20s  %s\n",
		printable(string(r.Status)), r.at(before), attempt, lease, stamp(r.Expires), printable(r.ID))
}
