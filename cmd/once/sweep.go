package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

const aboutSweep = `
Deletes records whose retention has ended, from a table that keeps them: one of
DynamoDB without time to live, or one of PostgreSQL. Where time to live is on,
DynamoDB deletes them without charge.

A record stays if it never expires, if its lease is live, or if it is claimed
again meanwhile. The clock is that of DynamoDB or PostgreSQL.

In DynamoDB, sweep refuses a table in which an item that looks like an expired
record has attributes that no record has: it may be another program's.

In DynamoDB, a sweep reads the whole table, which costs half a read unit for
each 4 KB of it, and each deletion costs a write unit for each KB. A sweep that
ends at its --limit, with an error or by an interrupt prints the position at
which --after continues. In PostgreSQL it deletes what expired first, in
transactions of 500 records, and the same command continues.

An interrupt ends the sweep after the deletions under way.
`

type sweepFlags struct {
	store.Flags
	older              time.Duration
	limit              int
	after              string
	dryRun, yes, quiet bool
}

func (o *sweepFlags) add(f *flag.FlagSet) {
	o.Flags.Add(f)
	cli.DurationVar(f, &o.older, "older-than", time.Hour, "only records that expired this `duration` ago or earlier; more than any difference between the clocks of functions")
	f.IntVar(&o.limit, "limit", 0, "the `number` of records after which to end; 0: all")
	f.StringVar(&o.after, "after", "", "continue at this `position`, which an earlier sweep of the DynamoDB table printed")
	f.BoolVar(&o.dryRun, "dry-run", false, "count the records, and delete none")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.JSON, "json", false, "write JSON")
	f.BoolVar(&o.quiet, "quiet", false, "print no progress")
}

func (o *sweepFlags) check(c *cli.Call) error {
	switch {
	case o.older < time.Second:
		return cli.Endf(cli.CodeUsage, "--older-than is less than a second: a function whose clock is behind may still need the record")
	case o.limit < 0:
		return cli.Endf(cli.CodeUsage, "--limit is negative")
	case c.Given("after") && o.Kind() != store.OfDynamoDB:
		return cli.Endf(cli.CodeUsage, "--after is for DynamoDB, and excludes %s", store.FlagOf[o.Kind()])
	case c.Given("after") && o.after == "":
		return store.ErrNoPosition
	}
	return nil
}

type swept struct {
	Records  int       `json:"records"` // deleted, or counted
	DryRun   bool      `json:"dry_run"`
	Before   time.Time `json:"expired_before"`
	Complete bool      `json:"complete"`
	After    string    `json:"after,omitempty"`
}

func sweep(ctx context.Context, c *cli.Call) error {
	var o sweepFlags
	o.add(c.FlagSet)
	if _, err := c.Arguments(0); err != nil {
		return err
	}
	if err := o.check(c); err != nil {
		return err
	}
	t, err := o.Open(ctx, c)
	if err != nil {
		return err
	}
	sweeper, ok := t.Operable.(driver.Sweeper)
	if !ok {
		return cli.Endf(cli.CodeUsage, "once sweep does not apply to %s: it deletes expired records by itself", o.Kind())
	}
	one, err := t.Scan(ctx, driver.Filter{Brief: true, Limit: 1}, "") // for its time
	if err != nil {
		return store.CallError(err)
	}
	s := &swept{DryRun: o.dryRun, Before: one.At.Add(-o.older).UTC().Truncate(time.Second), After: o.after}
	if !o.dryRun && !o.yes {
		bound := ""
		if o.limit > 0 {
			bound = fmt.Sprintf(", at most %d of them", o.limit)
		}
		fmt.Fprintf(c.Err, "All records that expired before %s will be deleted from %s%s.\n", cli.Stamp(s.Before), t.Place, bound)
		if err := c.Confirm(ctx); err != nil {
			return err
		}
	}
	p := store.NewProgress(c.Terminal, o.quiet)
	p.Sweep = verbs[o.dryRun]
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		fmt.Fprintln(c.Err, "once: interrupted; waiting for the deletions under way")
		close(told)
	})
	err = s.pages(ctx, sweeper, cmp.Or(o.limit, math.MaxInt), p)
	if o.Kind() == store.OfPostgres || o.dryRun {
		s.After = "" // PostgreSQL finds expired records by an index
	}
	if !stop() {
		<-told
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = cli.Endf(cli.CodeFailed, "the sweep was interrupted")
	}
	switch {
	case err != nil && s.Records == 0 && s.After == o.after:
		return err // there is nothing to tell
	case o.JSON:
		return errors.Join(err, cli.WriteJSON(c.Out, s))
	}
	return errors.Join(err, s.print(c.Out))
}

// pages sweeps page by page. It also counts the records before an error.
func (s *swept) pages(ctx context.Context, t driver.Sweeper, limit int, p *store.Progress) error {
	for s.Records < limit && !s.Complete {
		var n int
		var done driver.Progress
		var err error
		if s.DryRun {
			var page driver.Page
			page, err = t.Scan(ctx, driver.Filter{Expired: s.Before, Brief: true}, s.After)
			n, done = len(page.Entries), page.Progress
		} else {
			n, done, err = t.Sweep(ctx, s.Before, limit-s.Records, s.After)
		}
		s.Records, s.After = s.Records+n, done.Next
		if err != nil {
			return store.CallError(err)
		}
		p.Swept = s.Records
		p.Page(done)
		s.Complete = s.After == ""
	}
	if s.Records > limit { // of a dry run, which counts whole pages
		s.Records, s.Complete = limit, false
	}
	return nil
}

// verbs are those for the records, by whether the run was dry.
var verbs = map[bool]string{true: "found", false: "deleted"}

func (s *swept) print(w io.Writer) error {
	more := "there may be more; continue with --after " + s.After + "\n"
	switch {
	case s.Complete:
		more = ""
	case s.DryRun:
		more = "there may be more\n"
	case s.After == "":
		more = "there may be more; the same command continues\n"
	}
	_, err := fmt.Fprintf(w, "%s %d records that expired before %s\n%s", verbs[s.DryRun], s.Records, cli.Stamp(s.Before), more)
	return err
}
