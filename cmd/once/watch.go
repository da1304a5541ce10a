package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

const aboutWatch = `
Shows the records that are in progress, or those of another --status, as they
change: on a terminal as a table that is drawn again and again, elsewhere as a
line for each record that comes, changes or goes. Each look reads the whole
table, and costs as "once list" does.
`

// maxWatched bounds the memory, and the rows that a person can follow.
const maxWatched = 10_000

type watcher struct {
	scanFlags
	interval time.Duration
	rows     int
	looks    int
	seen     map[string]*record
}

func watch(ctx context.Context, c *call) error {
	var o watcher
	o.add(c.FlagSet)
	durationVar(c.FlagSet, &o.interval, "interval", 2*time.Second, "the `duration` between two looks")
	c.IntVar(&o.rows, "rows", 20, "the `number` of rows of the table")
	c.IntVar(&o.looks, "looks", 0, "the `number` of looks after which to end; 0: go on until interrupted")
	t, err := o.openAll(ctx, c)
	if err != nil {
		return err
	}
	if o.status == "" {
		o.status = "INPROGRESS"
	}
	if o.interval <= 0 || o.rows < 1 || o.looks < 0 {
		return endf(codeUsage, "--interval and --rows are above 0, and --looks not below")
	}
	for n := 1; ctx.Err() == nil; n++ { // an interrupt ends it
		err := o.look(ctx, c.out, t, isTerminal(c.out) && !o.json)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case n == o.looks:
			return nil
		}
		select {
		case <-time.After(o.interval):
		case <-ctx.Done():
		}
	}
	return nil
}

func (o *watcher) look(ctx context.Context, w io.Writer, t *store, draw bool) error {
	q := o.query()
	q.Brief = true
	now := map[string]*record{}
	left := 0
	err := t.scan(ctx, q, &progress{to: io.Discard}, func(r *record) error {
		if len(now) >= maxWatched {
			left++
			return nil
		}
		now[r.ID] = r
		return nil
	})
	if err != nil {
		return err
	}
	before := t.now().Add(-o.skew)
	out := bufio.NewWriter(w)
	if draw {
		o.draw(out, now, left, before)
	} else {
		o.changes(out, now, left, before)
	}
	o.seen = now
	return out.Flush()
}

// draw overwrites the screen: clearing it first would flicker.
func (o *watcher) draw(w io.Writer, now map[string]*record, left int, before time.Time) {
	var table strings.Builder
	total := map[state]int{}
	for _, r := range now {
		total[r.at(before)]++
	}
	fmt.Fprintf(&table, "%s  %s %d", time.Now().UTC().Format(time.TimeOnly), o.status, len(now)+left)
	for _, s := range []state{running, lapsed, released, leaseless, over} {
		if total[s] > 0 {
			fmt.Fprintf(&table, ", %s %d", s, total[s])
		}
	}
	table.WriteString("\n\n")
	header(&table)
	all := sortedByLease(now)
	for _, r := range all[:min(len(all), o.rows)] {
		row(&table, r, before)
	}
	if more := len(all) + left - o.rows; more > 0 {
		fmt.Fprintf(&table, "and %d more\n", more)
	}
	fmt.Fprintf(w, "\x1b[H%s\x1b[J", strings.ReplaceAll(table.String(), "\n", "\x1b[K\n"))
}

// changes writes a line for each record that has changed. An error of w comes back when it
// is flushed.
func (o *watcher) changes(w *bufio.Writer, now map[string]*record, left int, before time.Time) {
	line := func(r *record, is state) {
		if o.json {
			s := r.json(before)
			s.State = is
			_ = writeJSON(w, s)
		} else {
			fmt.Fprintf(w, "%s  %-9s  attempt %d  %s\n", stamp(time.Now()), is, r.Attempt, printable(r.ID))
		}
	}
	for _, r := range sortedByLease(now) {
		was := o.seen[r.ID]
		if was == nil || was.at(before) != r.at(before) || was.Owner != r.Owner || was.Attempt != r.Attempt {
			line(r, r.at(before))
		}
	}
	for _, r := range sortedByLease(o.seen) {
		// Beyond the bound, a missing record may be omitted.
		if now[r.ID] == nil && left == 0 {
			line(r, "gone")
		}
	}
}

// sortedByLease returns the oldest first: a person looks for those.
func sortedByLease(records map[string]*record) []*record {
	return slices.SortedFunc(maps.Values(records), func(a, b *record) int {
		// Records without a lease have the zero time, and come first.
		return cmp.Or(a.Lease.Compare(b.Lease), strings.Compare(a.ID, b.ID))
	})
}
