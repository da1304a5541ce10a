package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
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

type operationStats struct {
	Operation  string  `json:"operation"`
	InProgress int     `json:"in_progress"`
	Stuck      int     `json:"stuck"` // of those in progress
	Completed  int     `json:"completed"`
	Failed     int     `json:"failed"`
	Other      int     `json:"other"`
	Again      int64   `json:"again"`
	Duplicates *int    `json:"duplicates"` // null: the table does not know
	Oldest     *oldest `json:"oldest_in_progress"`
	// Errors counts the failed records by the type of their error.
	Errors map[string]int `json:"errors,omitempty"`
	Bytes  struct {
		Total   int `json:"total"`
		Average int `json:"average"`
		Largest int `json:"largest"`
	} `json:"bytes"`
}

type oldest struct {
	Record string    `json:"record"`
	Lease  time.Time `json:"lease"`
}

// maxOperations bounds the memory if ids are chosen to have many different first
// parts.
const (
	maxOperations = 1000
	otherwise     = "(others)"
)

type counts map[string]*operationStats

func (c counts) add(r *record.Record, before time.Time) {
	name := r.Operation()
	if c[name] == nil && len(c) >= maxOperations {
		name = otherwise
	}
	s := c[name]
	if s == nil {
		s = &operationStats{Operation: strings.Clone(name)}
		c[s.Operation] = s
	}
	switch r.Status {
	case driver.InProgress:
		s.InProgress++
		if !r.Lease.IsZero() && !r.Released() && (s.Oldest == nil || r.Lease.Before(s.Oldest.Lease)) {
			s.Oldest = &oldest{Record: r.ID, Lease: r.Lease.UTC()}
		}
		if r.StateAt(before) != record.Running {
			s.Stuck++
		}
	case driver.Completed:
		s.Completed++
	case driver.Failed:
		s.Failed++
		s.fail(r.CauseType())
	default:
		s.Other++
	}
	s.Again += max(r.Attempt, 1) - 1
	s.Bytes.Total += r.Size
	s.Bytes.Largest = max(s.Bytes.Largest, r.Size)
}

// maxErrors bounds the memory if a function makes the names of its errors.
const maxErrors = 100

func (s *operationStats) fail(cause string) {
	if cause = cmp.Or(cause, "(not known)"); s.Errors[cause] == 0 && len(s.Errors) >= maxErrors {
		cause = otherwise
	}
	if s.Errors == nil {
		s.Errors = map[string]int{}
	}
	s.Errors[strings.Clone(cause)]++
}

// errors returns the most frequent errors in words.
func (s *operationStats) errors() string {
	var all []string
	for _, cause := range slices.SortedFunc(maps.Keys(s.Errors), func(a, b string) int {
		return cmp.Or(s.Errors[b]-s.Errors[a], strings.Compare(a, b))
	}) {
		all = append(all, fmt.Sprint(cli.Printable(cause), " ", s.Errors[cause]))
	}
	const shown = 3
	if more := len(all) - shown; more > 0 {
		all = append(all[:shown], fmt.Sprint(more, " more"))
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

func (c counts) sorted() []*operationStats {
	all := slices.SortedFunc(maps.Values(c), func(a, b *operationStats) int { return strings.Compare(a.Operation, b.Operation) })
	for _, s := range all {
		s.Bytes.Average = s.Bytes.Total / (s.InProgress + s.Completed + s.Failed + s.Other)
	}
	return all
}

func stats(ctx context.Context, c *cli.Call) error {
	var o store.ScanFlags
	o.Add(c.FlagSet)
	t, err := o.OpenAll(ctx, c)
	if err != nil {
		return err
	}
	all := counts{}
	p, err := o.Begin(ctx, c, t)
	if err != nil {
		return err
	}
	err = o.Stopped(ctx, p, t.Each(ctx, o.Query(), p, func(r *record.Record) error { all.add(r, r.At.Add(-o.Skew)); return nil }))
	switch {
	case err != nil && p.Pages == 0:
		return err // there is nothing to count
	case o.JSON:
		return errors.Join(err, cli.WriteJSON(c.Out, struct {
			Operations []*operationStats `json:"operations"`
			Items      int               `json:"items"`
			ReadUnits  float64           `json:"read_units"`
			After      string            `json:"after,omitempty"` // if it did not reach the end
		}{all.sorted(), p.Items, p.Units, p.After()}))
	}
	return errors.Join(err, all.print(c.Out))
}

func (c counts) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "OPERATION\tINPROGRESS\tSTUCK\tCOMPLETED\tFAILED\tOTHER\tAGAIN\tOLDEST\tBYTES\tAVERAGE\tLARGEST\tERRORS")
	for _, s := range c.sorted() {
		var at time.Time
		if s.Oldest != nil {
			at = s.Oldest.Lease
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%s\n", cmp.Or(cli.Printable(s.Operation), "(none)"), s.InProgress, s.Stuck, s.Completed, s.Failed,
			s.Other, s.Again, cli.Stamp(at), s.Bytes.Total, s.Bytes.Average, s.Bytes.Largest, s.errors())
	}
	return tw.Flush()
}
