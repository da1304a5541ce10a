package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/redrive"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

// redriving is a run of the command. An interrupt ends it between two messages: each request
// runs to its end, and the messages that are left are given back.
type redriving struct {
	*redriveFlags
	queues   *store.Waits
	from, to *redrive.Queue // to is nil if nothing is moved
	judge    redrive.Judge
	all      []*redrive.Message
	complete bool // all messages were seen
}

// aim finds the queue to move to. A queue that is no dead-letter queue is left alone without
// --to: to receive its messages would keep them from its function.
func (r *redriving) aim(ctx context.Context, client *sqs.Client) error {
	sources, err := r.from.Sources(ctx)
	switch given := r.redriveFlags.to; {
	case given == "none":
	case given != "":
		if r.to, err = redrive.Open(ctx, client, given, r.hold); err != nil {
			return err
		}
		if r.to.FIFO() != r.from.FIFO() || r.to.Name() == r.from.Name() {
			return cli.Endf(cli.CodeUsage, "--to is QUEUE itself, or one of both is a FIFO queue and the other is none")
		}
	case err != nil:
		return err
	case len(sources) == 0:
		return cli.Endf(cli.CodeUsage, "%s is the dead-letter queue of no queue: set --to, or --to none for the queue of a failure destination", r.from.Name())
	case len(sources) > 1:
		return cli.Endf(cli.CodeUsage, "%s is the dead-letter queue of %d queues: set --to to one of them", r.from.Name(), len(sources))
	default:
		r.to = sources[0]
	}
	if slices.ContainsFunc(sources, func(q *redrive.Queue) bool { return r.to != nil && q.Name() == r.to.Name() }) {
		r.judge.To = r.to.Name()
	}
	if !r.from.FIFO() {
		return nil
	}
	// Its messages were sent again when they moved here, after this time at most.
	if r.judge.Before = 14 * 24 * time.Hour; r.to == nil {
		return nil
	}
	at, err := r.to.Attributes(ctx)
	r.judge.Before = at.Retention
	return err
}

func (r *redriving) look(ctx context.Context) (err error) {
	requests := context.WithoutCancel(ctx)
	r.complete, err = r.from.Each(requests, r.most, func(received types.Message) error {
		m := &redrive.Message{Message: received}
		if r.all = append(r.all, m); ctx.Err() != nil {
			return store.ErrInterrupted
		}
		return r.judge.Look(requests, m)
	})
	return err
}

func (r *redriving) chosen(m *redrive.Message) bool {
	return m.Kept == "" && slices.Contains(r.move, m.Verdict)
}

func (r *redriving) act(ctx context.Context, c *cli.Call) (err error) {
	if r.move == nil {
		return r.print(ctx, c.Out, c.Err)
	}
	n, kept := 0, map[string]int{}
	for _, m := range r.all {
		if r.chosen(m) {
			n++
		} else if slices.Contains(r.move, m.Verdict) {
			kept[m.Kept]++
		}
	}
	table := c.Err
	if r.JSON { // each line says at the end whether its message was moved
		table = io.Discard
	}
	if err := r.print(ctx, table, c.Err); err != nil {
		return err
	}
	for _, why := range slices.Sorted(maps.Keys(kept)) {
		fmt.Fprintf(c.Err, "%d messages will not be moved: %s\n", kept[why], why)
	}
	fmt.Fprintf(c.Err, "%d messages will be moved to %s, and the function gets them.\n", n, r.to.Name())
	if !r.yes && n > 0 {
		if err := c.Confirm(ctx); err != nil {
			return err
		}
	}
	moved := 0
	for _, m := range r.all {
		switch {
		case err != nil || !r.chosen(m):
		case ctx.Err() != nil:
			err = store.ErrInterrupted
		default:
			err = r.moveOne(context.WithoutCancel(ctx), m, c.Err)
		}
		if m.Moved {
			moved++
		}
		if r.JSON {
			err = errors.Join(err, cli.WriteJSON(c.Out, m))
		}
	}
	if !r.JSON {
		fmt.Fprintf(c.Out, "moved: %d of %d\n", moved, n)
	}
	if err == nil && moved < n {
		err = cli.Endf(cli.CodeFailed, "not all were moved: repeat the command")
	}
	return err
}

// moveOne moves a message unless its record has changed, or its time is over.
func (r *redriving) moveOne(ctx context.Context, m *redrive.Message, w io.Writer) error {
	if err := r.from.Hold(ctx, m); err != nil {
		if r.queues.Ended() != nil {
			return err
		}
		fmt.Fprintf(w, "message %s is left, as it was visible again: %v\n", m.ID, err)
		return nil
	}
	was := m.State // a verdict is for several
	if err := r.judge.Look(ctx, m); err != nil {
		return err
	}
	if !r.chosen(m) || m.State != was {
		fmt.Fprintf(w, "message %s is left, as it is now: %s\n", m.ID, cli.Present(", ", m.Verdict, m.Why))
		return nil
	}
	return r.from.Move(ctx, m, r.to)
}

func (r *redriving) giveBack(ctx context.Context, w io.Writer) {
	var receipts []*string
	for _, m := range r.all {
		if !m.Moved {
			receipts = append(receipts, m.ReceiptHandle)
		}
	}
	if err := r.from.GiveBack(context.WithoutCancel(ctx), receipts); err != nil {
		fmt.Fprintf(w, "%d messages are hidden for up to %s more: %v\n", len(receipts), r.hold, err)
	}
}

func (r *redriving) print(ctx context.Context, out, w io.Writer) error {
	counts := map[string]int{}
	for i, m := range r.all {
		counts[m.Verdict]++
		if r.data {
			m.Body = *m.Message.Body
		}
		switch {
		case r.JSON:
			if err := cli.WriteJSON(out, m); err != nil {
				return err
			}
		case i < r.limit:
			fmt.Fprintf(out, "%s  %-20s  %-10s  %s\n", m.ID, cli.Stamp(m.Sent), m.Verdict, cli.Present("  ", cli.Printable(m.Record), cli.Printable(cmp.Or(m.Kept, m.Why)), cli.Printable(m.Body)))
		}
	}
	if !r.JSON {
		fmt.Fprintln(out, cli.Counts(fmt.Sprint(len(r.all), " messages"), append(redrive.Movable, redrive.Refused), counts))
	}
	if hasRecord := func(m *redrive.Message) bool { return m.State != "" }; len(r.all) > 0 && !slices.ContainsFunc(r.all, hasRecord) {
		fmt.Fprintln(w, "none has a record: as after a failure that may be repeated; or --operation, --key, --body, --scope or the store are not those of the function")
	}
	at, err := r.from.Attributes(ctx)
	if more := at.Messages - len(r.all); err == nil && (more > 0 || !r.complete) {
		fmt.Fprintf(w, "about %d more were not looked at: hidden, behind their group, or more than --max\n", max(more, 0))
	}
	return err
}
