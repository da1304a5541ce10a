package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/dynamo/outbox"
)

const aboutOutbox = `
Lists the messages of an outbox in DynamoDB that no relay has marked as published, by
their destination, and the items that hold them, the oldest first. It reads the whole
table, and shows no body. Why a message was not published is in the log of the relay.

--publish has the relay publish these items, by a write that brings each into the
stream once more. The ids of the messages stay, so that receivers with chain keys do
nothing twice. Others may get a message twice, or after a later one of its aggregate.

--older-than leaves out what the relay may still have before it: by default, it tries
for 12 hours.

It needs dynamodb:Scan and, for --publish, dynamodb:UpdateItem on the outbox.
`

type outboxFlags struct {
	dynamoDB           store.DynamoDBFlags
	waits              store.Waits
	table              string
	older              time.Duration
	limit              int
	publish, yes, json bool
}

func (o *outboxFlags) add(f *flag.FlagSet) {
	f.StringVar(&o.table, "table", os.Getenv("OUTBOX_TABLE"), "the `name` or ARN of the outbox; without it, $OUTBOX_TABLE")
	o.dynamoDB.AddClient(f)
	o.waits.Add(f)
	cli.DurationVar(f, &o.older, "older-than", 15*time.Minute, "only items that were written this `duration` ago or earlier")
	f.IntVar(&o.limit, "limit", 20, "show so many items, a `number`; with --json all are shown")
	f.BoolVar(&o.publish, "publish", false, "have the relay publish them")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.json, "json", false, "write JSON")
}

func outboxItems(ctx context.Context, c *cli.Call) error {
	var o outboxFlags
	o.add(c.FlagSet)
	_, err := c.Arguments(0)
	switch {
	case err != nil:
		return err
	case o.table == "":
		return cli.Endf(cli.CodeUsage, "set --table or OUTBOX_TABLE")
	case o.older < 0 || o.limit < 0:
		return cli.Endf(cli.CodeUsage, "--older-than or --limit is negative")
	}
	if err := o.waits.Check(c); err != nil {
		return err
	}
	client, err := o.dynamoDB.Client(ctx, &o.waits)
	if err != nil {
		return err
	}
	box, err := outbox.New(client, o.table, nil)
	if err != nil {
		return cli.Misuse(err)
	}
	var items []outbox.Item
	for item, failed := range box.Pending(ctx, time.Now().Add(-o.older)) {
		if failed != nil {
			err = failed // the last one may be of the scan
			fmt.Fprintln(c.Err, failed)
			continue
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b outbox.Item) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	if err := o.waits.Ended(); err != nil {
		return err
	}
	if err == nil || len(items) > 0 {
		if err := o.print(c, items); err != nil {
			return err
		}
	}
	if o.publish && len(items) > 0 {
		if err := o.again(ctx, c, box, items); err != nil {
			return err
		}
	}
	if err != nil {
		return cli.Endf(cli.CodeFailed, "not all items could be read")
	}
	return nil
}

type pendingMessage struct {
	ID          string    `json:"id"`
	Aggregate   string    `json:"aggregate"`
	Destination string    `json:"destination"`
	Type        string    `json:"type,omitempty"`
	Bytes       int       `json:"bytes"`
	Created     time.Time `json:"created"`
}

func (o *outboxFlags) print(c *cli.Call, items []outbox.Item) error {
	to := map[string][]pendingMessage{}
	for _, item := range items {
		for _, m := range item.Messages {
			shown := pendingMessage{m.ID, item.Aggregate, m.Destination, m.Type, len(m.Body), item.Created}
			to[m.Destination] = append(to[m.Destination], shown)
			if !o.json {
				continue
			}
			if err := cli.WriteJSON(c.Out, shown); err != nil {
				return err
			}
		}
	}
	if o.json {
		return nil
	}
	for _, destination := range slices.Sorted(maps.Keys(to)) {
		oldest := to[destination][0].Created
		fmt.Fprintf(c.Out, "%s: %d messages, the oldest of %s (%s)\n", cli.Printable(destination), len(to[destination]), cli.Stamp(oldest), cli.Relative(oldest, time.Now()))
	}
	for _, item := range items[:min(o.limit, len(items))] {
		fmt.Fprintf(c.Out, "  %s  %d messages  %s of %s\n", cli.Stamp(item.Created), len(item.Messages), cli.Printable(item.ID), cli.Printable(item.Aggregate))
	}
	_, err := fmt.Fprintf(c.Out, "%d items are not marked as published; --older-than %s leaves out later ones\n", len(items), c.Lookup("older-than").Value)
	return err
}

// again has the relay publish the items, in their order.
func (o *outboxFlags) again(ctx context.Context, c *cli.Call, box *outbox.Outbox, items []outbox.Item) error {
	fmt.Fprintf(c.Err, "The relay of %s will publish the messages of %d items, perhaps once more.\n", cli.Printable(o.table), len(items))
	if !o.yes {
		if err := c.Confirm(ctx); err != nil {
			return err
		}
	}
	var failed error
	written := 0
	defer func() { fmt.Fprintf(c.Err, "written for the relay: %d of %d items\n", written, len(items)) }()
	for _, item := range items {
		err := box.PublishAgain(ctx, item.Aggregate, item.ID, item.Created)
		switch {
		case errors.Is(err, outbox.ErrNotFound):
			fmt.Fprintf(c.Err, "%s is left, as the relay has published it meanwhile\n", cli.Printable(item.ID))
		case ctx.Err() != nil:
			return store.ErrInterrupted
		case o.waits.Ended() != nil:
			return err
		case err != nil: // which may be of this item alone
			failed = cli.Endf(cli.CodeFailed, "not all items could be written")
			fmt.Fprintf(c.Err, "%s is left: %v\n", cli.Printable(item.ID), err)
		default:
			written++
		}
	}
	return failed
}
