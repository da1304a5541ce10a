package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

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
