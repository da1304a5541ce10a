package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

const aboutList = `
Lists the records of a table, in no order. It reads the whole table, which
costs half a read unit for each 4 KB of it.

The flags select: "once list --error CardDeclined --since 24h" lists what failed
with this error since yesterday, and "--state waiting" what a person may have to
decide. SINCE is since when a record is as it is. Records that another library or an
earlier version has finished do not tell it, nor do released ones, and those that run
again: --since and --until pass over them, and say how many there are.

--older-than finds what may need a person: records in progress whose lease
ended so long ago, and those without a lease or released, of which the table
does not say since when.

With --json it writes one object in each line.

If it is interrupted, or fails, it prints the position at which --after continues.
`

type listFlags struct {
	store.ScanFlags
	record.Selection
	sort  string
	limit int
}

func (o *listFlags) add(f *flag.FlagSet) {
	o.ScanFlags.Add(f)
	o.Selection.Add(f)
	f.StringVar(&o.sort, "sort", "", "sort by this `column`: since, attempt or record; the oldest, the most attempts or the first id first")
	f.IntVar(&o.limit, "limit", 0, "list this `number` of records; 0: all")
}

func (o *listFlags) check() error {
	switch {
	case o.sort != "" && orders[o.sort] == nil:
		return cli.Endf(cli.CodeUsage, "--sort is none of since, attempt and record")
	case o.limit < 0:
		return cli.Endf(cli.CodeUsage, "--limit is negative")
	}
	return nil
}

// A row is a record with the time at which it was read, less the clock skew.
type row struct {
	*record.Record
	before time.Time
}

// orders are those of --sort. Records without a time come last.
var orders = map[string]func(a, b row) int{
	"since": func(a, b row) int {
		x, y := a.Since(a.before), b.Since(b.before)
		if x.IsZero() != y.IsZero() {
			return y.Compare(x)
		}
		return x.Compare(y)
	},
	"attempt": func(a, b row) int { return cmp.Compare(b.Attempt, a.Attempt) },
	"record":  func(a, b row) int { return cmp.Compare(a.ID, b.ID) },
}

// maxSorted bounds the memory of a sorted list.
const maxSorted = 1_000_000

var errEnough = errors.New("enough records")

func list(ctx context.Context, c *cli.Call) error {
	var o listFlags
	o.add(c.FlagSet)
	t, err := o.OpenAll(ctx, c)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	q := o.Query()
	q.Brief = o.Cause == "" // an earlier version stores the error in the result alone
	if err := o.Narrow(&q); err != nil {
		return err
	}
	p, err := o.Begin(ctx, c, t)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(c.Out)
	out := &record.Rows{W: w, JSON: o.JSON}
	var sorted []row
	err = t.Each(ctx, q, p, func(r *record.Record) error {
		next := row{r, r.At.Add(-o.Skew)}
		switch {
		case !o.Selects(r, next.before):
			return nil
		case o.sort == "" && o.limit > 0 && out.N == o.limit:
			return errEnough
		case o.sort == "":
			return out.Write(next.Record, next.before)
		case len(sorted) == maxSorted:
			return cli.Endf(cli.CodeUsage, "there are more than %d records to sort: select fewer", maxSorted)
		}
		sorted = append(sorted, next)
		return nil
	})
	slices.SortStableFunc(sorted, orders[cmp.Or(o.sort, "record")])
	shown := sorted[:min(len(sorted), cmp.Or(o.limit, len(sorted)))]
	for _, r := range shown {
		if failed := out.Write(r.Record, r.before); failed != nil {
			return failed
		}
	}
	if o.Untold > 0 {
		fmt.Fprintf(c.Err, "%d records do not tell since when they are as they are, and are not listed\n", o.Untold)
	}
	switch {
	case errors.Is(err, errEnough):
		fmt.Fprintln(c.Err, "there may be more")
		err = nil
	case len(shown) < len(sorted):
		fmt.Fprintf(c.Err, "there are %d more\n", len(sorted)-len(shown))
	case err == nil && out.N == 0:
		fmt.Fprintln(c.Err, "no such records")
	}
	return errors.Join(w.Flush(), o.Stopped(ctx, p, err))
}

const aboutStats = `
Counts the records of each operation. It reads the whole table, which costs
half a read unit for each 4 KB of it.

OTHER have a status that Once does not know. AGAIN is how many attempts came
after the first ones. How many duplicates were answered is not in the table, as
they write nothing: an Observer counts them. OLDEST is the earliest end of a
lease of those in progress, and STUCK are those without a live one. ERRORS are
the types of the errors of FAILED, the most frequent ones first.

If it is interrupted, or fails, it prints the counts so far, and the position at
which --after continues with the rest.
`

func stats(ctx context.Context, c *cli.Call) error {
	var o store.ScanFlags
	o.Add(c.FlagSet)
	t, err := o.OpenAll(ctx, c)
	if err != nil {
		return err
	}
	all := record.Counts{}
	p, err := o.Begin(ctx, c, t)
	if err != nil {
		return err
	}
	err = o.Stopped(ctx, p, t.Each(ctx, o.Query(), p, func(r *record.Record) error { all.Add(r, r.At.Add(-o.Skew)); return nil }))
	switch {
	case err != nil && p.Pages == 0:
		return err // there is nothing to count
	case o.JSON:
		return errors.Join(err, cli.WriteJSON(c.Out, struct {
			Operations []*record.OperationStats `json:"operations"`
			Items      int                      `json:"items"`
			ReadUnits  float64                  `json:"read_units"`
			After      string                   `json:"after,omitempty"` // if it did not reach the end
		}{all.Sorted(), p.Items, p.Units, p.After()}))
	}
	return errors.Join(err, printCounts(c.Out, all))
}

func printCounts(w io.Writer, all record.Counts) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "OPERATION\tINPROGRESS\tSTUCK\tCOMPLETED\tFAILED\tOTHER\tAGAIN\tOLDEST\tBYTES\tAVERAGE\tLARGEST\tERRORS")
	for _, s := range all.Sorted() {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%s\n", cmp.Or(cli.Printable(s.Operation), "(none)"), s.InProgress, s.Stuck, s.Completed, s.Failed,
			s.Other, s.Again, cli.Stamp(s.Lease()), s.Bytes.Total, s.Bytes.Average, s.Bytes.Largest, s.Causes())
	}
	return tw.Flush()
}
