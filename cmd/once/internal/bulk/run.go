package bulk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
)

const (
	maxSamples  = 5
	maxSelected = 1_000_000 // bounds the memory of a run
)

type run struct {
	*Flags
	*Action
	*journal
	call  *cli.Call
	store *store.Store
}

// Run reads the flags and carries them out. It opens the store with a context that outlives
// ctx for some seconds: an interrupt ends the run after the write under way.
func (o *Flags) Run(ctx context.Context, c *cli.Call, a *Action) (err error) {
	o.add(c.FlagSet)
	lingering, cancel := driver.Linger(ctx)
	defer cancel()
	n := &run{Flags: o, Action: a, call: c}
	if n.store, err = o.OpenAll(lingering, c); err != nil {
		return err
	}
	selection, err := o.check(c)
	switch {
	case err != nil:
		return err
	case o.continuing != "":
		err = n.again(lingering)
	default:
		where, failed := n.store.Where(lingering)
		if failed != nil {
			return failed
		}
		n.journal = &journal{head: head{Journal: version, Run: rand.Text(), At: time.Now().UTC(), Command: c.Name(), Store: where, Selection: selection, By: o.By, Reason: o.Reason, Skew: o.Flags.Skew}}
		err = n.count(ctx)
	}
	if err != nil {
		return err
	}
	if left := n.left(); !o.dryRun && len(left) > 0 {
		if !o.Yes {
			err = c.Confirm(ctx)
		}
		if err == nil && n.file == nil {
			err = n.create(o.journal)
		}
		if err != nil {
			return err
		}
		err = n.all(ctx, lingering, left)
	}
	return n.tell(err)
}

func (n *run) again(ctx context.Context) (err error) {
	if n.journal, err = reopen(n.continuing); err != nil {
		return err
	}
	where, err := n.store.Where(ctx)
	switch {
	case err != nil:
		return err
	case n.Command != n.call.Name():
		return cli.Endf(cli.CodeUsage, "%s is the journal of %s; nothing was written", n.continuing, n.Command)
	case n.Store != where:
		return cli.Endf(cli.CodeUsage, "%s is the journal of a run on %s, and this is %s; nothing was written", n.continuing, n.Store, where)
	}
	left := len(n.left())
	fmt.Fprintf(n.call.Err, "%s of %s on %s ended with %d of %d records; the other %d follow.\n", n.Command, cli.Stamp(n.At), n.Store, n.Selected-left, n.Selected, left)
	return json.Unmarshal(n.head.Action, n.Action.Action)
}

func (n *run) count(ctx context.Context) error {
	q := n.Query()
	err := n.Narrow(&q)
	if err == nil && n.Read != nil {
		err = n.Read(n.Yes)
	}
	if err != nil {
		return err
	}
	if n.head.Action, err = json.Marshal(n.Action.Action); err != nil {
		return err
	}
	p, err := n.Begin(ctx, n.call, n.store)
	if err != nil {
		return err
	}
	says, samples, counted := "", &record.Rows{W: n.call.Err}, map[string]bool{}
	err = n.store.Each(ctx, q, p, func(r *record.Record) error {
		before := r.At.Add(-n.head.Skew)
		switch {
		case counted[r.ID] || !n.Selects(r, before): // a scan may return a record twice
			return nil
		case len(n.items) == maxSelected:
			return cli.Endf(cli.CodeUsage, "there are more than %d records: select fewer", maxSelected)
		}
		counted[r.ID] = true
		i := &item{line: line{At: n.At, ID: r.ID, Is: selected, As: r.Version()}}
		n.items = append(n.items, i)
		w, err := record.Write{}, weigh(n.May(r, r.At, n.head.Skew))
		if err == nil {
			w, err = n.Write(r, r.At, n.head.Skew)
		}
		switch {
		case err != nil:
			i.end(refused, err)
			return nil
		case says == "":
			says = w.What
		}
		if samples.N == maxSamples {
			return nil
		}
		return samples.Write(r, before)
	})
	if ctx.Err() != nil {
		err = store.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("%w; nothing was written", err)
	}
	ready := len(n.left())
	n.Selected, n.Refused = len(n.items), len(n.items)-ready
	n.show(ready, says)
	return nil
}

func (n *run) show(ready int, says string) {
	if n.Untold > 0 {
		fmt.Fprintf(n.call.Err, "%d records do not tell since when they are as they are, and are not selected\n", n.Untold)
	}
	fmt.Fprintf(n.call.Err, "%d records of %s are selected.\n", n.Selected, n.Store)
	reasons := n.reasons()
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(n.call.Err, "%d are left as they are: %s.\n", reasons[why], why)
	}
	if ready > 0 {
		fmt.Fprintf(n.call.Err, "%d follow. Of the first: %s\n", ready, says)
	}
}

func (n *run) all(ctx, lingering context.Context, left []*item) error {
	p := store.NewProgress(n.call.Terminal, n.Quiet)
	p.Sweep = "ended"
	next := time.Now()
	for _, i := range left {
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(next)):
		}
		if ctx.Err() != nil {
			return store.ErrInterrupted
		}
		if n.rate > 0 {
			next = time.Now().Add(time.Second / time.Duration(n.rate))
		}
		if err := n.one(lingering, i); err != nil {
			return err
		}
		p.Swept++
		p.Page(driver.Progress{Read: 1})
	}
	return nil
}

func (n *run) one(ctx context.Context, i *item) error {
	r, err := n.store.Read(ctx, i.ID)
	if err != nil && !store.IsMissing(err) {
		return err
	}
	ready := n.appraise(i, r, n.store.Now())
	if err := n.note(i); err != nil || !ready {
		return err
	}
	if err := n.file.Sync(); err != nil {
		return err // nothing is written that the journal does not name
	}
	err = n.do(ctx, n.store, i)
	return errors.Join(err, n.note(i))
}

// appraise begins an item, and reports whether to carry it out, or ends it. r is nil if the
// record is gone.
func (n *run) appraise(i *item, r *record.Record, now time.Time) (ready bool) {
	if i.Is == begun { // by a run that did not note what became of it
		switch n.settle(i, r) {
		case done:
			i.end(done, nil)
			return false
		case begun:
			i.end(begun, errors.New("the record has changed, and may have been written before"))
			return false
		}
	} else if r.Version() != i.As {
		i.end(refused, errChanged)
		return false
	}
	err := weigh(n.May(r, now, n.head.Skew))
	if err == nil {
		err = n.begin(i, r, now, n.head.Skew)
	}
	switch {
	case err == nil:
		i.At, i.Is, i.Why, i.State, i.Attempt, i.Owner = now.UTC(), begun, "", r.StateAt(now.Add(-n.head.Skew)), r.Attempt, r.Owner
		return true
	case n.Call != nil && i.Is == begun: // its attempt may have a lease yet
		i.end(begun, err)
	default:
		i.end(refused, err)
	}
	return false
}
