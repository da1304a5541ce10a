package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/redrive"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

const aboutRedrive = `
Looks at the messages of a dead-letter queue of SQS, and says what the function would
do with each of them. With --move it moves those with one of these verdicts back:

  will-run    the next attempt runs, or undoes steps
  waiting     the limits of the function decide, and perhaps a person: see inspect
  running     a call runs it
  finished    it is a duplicate: the function acknowledges it, and runs nothing
  failed      its failure is stored: it would come back. See release --delete
  first       it has no record: it would run
  expired     its record's retention has ended: it would run again
  late        it has no record, and is so old that it may have had one
  mismatch    its record has a different payload
  unreadable  calls cannot read its record
  no-key      the function finds no key in it

QUEUE is a name, an ARN or a URL. --operation, --key, --body and --scope are those of
the function: with others, the verdicts are wrong. The JMESPath of --key is that of
package keypath, such as body.orderId. --key default is a nil key function.

A message that is sent anew has a new id, whoever moves it. So a message whose key
changes with its id is not moved: it would run again, whatever its record says. A move
also makes a message young, so that --retention is needed to move those without a
record. One that was moved before may be older than it looks.

A chosen message is looked at again, sent with its attributes and group, and deleted
when the send is acknowledged. A crash in between leaves it in both queues, where its
record makes the second one a duplicate. Messages are hidden for --hold meanwhile, and
then visible again. Of a group of a FIFO queue SQS shows ten at a time: repeat the
command.

Queues with the events of a failure destination are looked at with --to none, and
--key body.requestPayload.orderId. Region and credentials are those of the
environment. It needs sqs:ReceiveMessage, sqs:ChangeMessageVisibility,
sqs:GetQueueAttributes, sqs:GetQueueUrl and sqs:ListDeadLetterSourceQueues; with --move
also sqs:DeleteMessage, and sqs:SendMessage and sqs:GetQueueAttributes on the other
queue.
`

type redriveFlags struct {
	store.Flags
	redrive.Settings
	to              string
	move            []string
	retention, hold time.Duration
	most, limit     int
	yes, data       bool
}

func (o *redriveFlags) add(f *flag.FlagSet) {
	o.Flags.Add(f)
	o.AddView(f)
	f.StringVar(&o.Operation, "operation", "", "the `operation` of the function")
	f.StringVar(&o.Key, "key", "", "the function's key: a JMESPath `expression`, attribute:NAME, or default")
	f.StringVar(&o.Body, "body", "json", "the `kind` of the body: json, text, sns, eventbridge or s3")
	f.StringVar(&o.Scope, "scope", "", "the `text` of Key.Scope, if all messages have the same")
	cli.DurationVar(f, &o.retention, "retention", 0, "Config.Retention of the function, a `duration`")
	f.StringVar(&o.to, "to", "", "the `queue` to move to; without it, the one whose dead-letter queue QUEUE is; none to look only")
	f.Func("move", "move the messages with these `verdicts`, such as will-run,finished", func(s string) error {
		for v := range strings.SplitSeq(s, ",") {
			if !slices.Contains(movable, redrive.Verdict(v)) {
				return fmt.Errorf("%q is none of %s", v, join(movable))
			}
			o.move = append(o.move, v)
		}
		return nil
	})
	cli.DurationVar(f, &o.hold, "hold", 5*time.Minute, "how long the messages are hidden, a `duration`")
	f.IntVar(&o.most, "max", 1000, "look at so many messages at most, a `number`")
	f.IntVar(&o.limit, "limit", 20, "show so many of them, a `number`; with --json all are shown")
	f.BoolVar(&o.data, "data", false, "show the bodies too: they may be personal data")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
}

// movable are the verdicts with which a move makes sense: calls refuse the others.
var movable = redrive.Verdicts[:slices.Index(redrive.Verdicts, redrive.Mismatch)]

func join(all []redrive.Verdict) string {
	var text strings.Builder
	for _, v := range all {
		text.WriteString(", " + string(v))
	}
	return text.String()[2:]
}

func (o *redriveFlags) check(args []string) (*redrive.Keyer, error) {
	switch {
	case len(args) == 0:
		return nil, cli.Endf(cli.CodeUsage, "QUEUE is missing: give the name, ARN or URL of a dead-letter queue")
	case o.Operation == "" || o.Key == "":
		return nil, cli.Endf(cli.CodeUsage, "set --operation and --key to those of the function: the records are found by them")
	case o.Scope != "" && o.Key == redrive.DefaultKey:
		return nil, cli.Endf(cli.CodeUsage, "--scope excludes --key default, which has none")
	case o.hold < 10*time.Second || o.hold > 12*time.Hour:
		return nil, cli.Endf(cli.CodeUsage, "--hold is not between 10s and 12h")
	case o.most < 1 || o.limit < 0 || o.retention < 0:
		return nil, cli.Endf(cli.CodeUsage, "--max is less than 1, or --limit or --retention is negative")
	case o.to == "none" && o.move != nil:
		return nil, cli.Endf(cli.CodeUsage, "--to none excludes --move")
	}
	keys, err := redrive.NewKeyer(o.Settings)
	if err != nil {
		return nil, cli.Endf(cli.CodeUsage, "--operation, --key or --body: %w", err)
	}
	return keys, nil
}

func redriveMessages(ctx context.Context, c *cli.Call) error {
	var o redriveFlags
	o.add(c.FlagSet)
	args, err := c.Arguments(1)
	if err != nil {
		return err
	}
	keys, err := o.check(args)
	if err != nil {
		return err
	}
	t, err := o.Open(ctx, c)
	if err != nil {
		return err
	}
	cfg, err := o.DynamoDB.Load(ctx, &o.Waits)
	if err != nil {
		return err
	}
	from, err := redrive.Open(ctx, sqs.NewFromConfig(cfg), args[0], o.hold)
	if err != nil {
		return err
	}
	r := redriving{redriveFlags: &o, from: from, judge: redrive.Judge{Keys: keys, Store: t, Skew: o.Skew, Retention: o.retention}}
	if err := r.aim(ctx, sqs.NewFromConfig(cfg)); err != nil {
		return err
	}
	defer r.giveBack(ctx, c.Err)
	if err := r.look(ctx); err != nil {
		return err
	}
	return r.act(ctx, c)
}

// redriving is a run of the command. An interrupt ends it between two messages, as the others
// are given back: requests run to their end.
type redriving struct {
	*redriveFlags
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
	if r.judge.Before = 14 * 24 * time.Hour; r.to != nil {
		r.judge.Before, err = r.to.Retention(ctx)
	}
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
	return m.Kept == "" && slices.Contains(r.move, string(m.Verdict))
}

// act prints what was found and, with --move, what was moved.
func (r *redriving) act(ctx context.Context, c *cli.Call) (err error) {
	if r.move == nil {
		return r.print(ctx, c.Out, c.Err)
	}
	n, kept := 0, map[string]int{}
	for _, m := range r.all {
		if r.chosen(m) {
			n++
		} else if slices.Contains(r.move, string(m.Verdict)) {
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
		if err == nil && r.chosen(m) {
			if err = r.moveOne(context.WithoutCancel(ctx), m, c.Err); err == nil && ctx.Err() != nil {
				err = store.ErrInterrupted
			}
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
		if r.Waits.Ended() != nil {
			return err
		}
		fmt.Fprintf(w, "message %s is left, as it was visible again: %v\n", m.ID, err)
		return nil
	}
	if err := r.judge.Look(ctx, m); err != nil {
		return err
	}
	if !r.chosen(m) {
		fmt.Fprintf(w, "message %s is left, as it is now: %s\n", m.ID, m.Verdict)
		return nil
	}
	return r.from.Move(ctx, m, r.to)
}

// giveBack makes the messages that were not moved visible again.
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

// print writes the counts and the rows, and to w what there is besides.
func (r *redriving) print(ctx context.Context, out, w io.Writer) error {
	counts := map[redrive.Verdict]int{}
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
		fmt.Fprintf(out, "%d messages", len(r.all))
		for separator, rest := ": ", redrive.Verdicts; len(rest) > 0; rest = rest[1:] {
			if n := counts[rest[0]]; n > 0 {
				fmt.Fprintf(out, "%s%d %s", separator, n, rest[0])
				separator = ", "
			}
		}
		fmt.Fprintln(out)
	}
	if n := counts[redrive.First] + counts[redrive.NoKey]; n == len(r.all) && n > 0 {
		fmt.Fprintln(w, "none has a record: as after a failure that may be repeated; or --operation, --key, --body, --scope or the store are not those of the function")
	}
	size, err := r.from.Size(ctx)
	if more := size - len(r.all); err == nil && (more > 0 || !r.complete) {
		fmt.Fprintf(w, "about %d more were not looked at: hidden, behind their group, or more than --max\n", max(more, 0))
	}
	return err
}
