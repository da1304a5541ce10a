package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/redrive"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

const aboutRedrive = `
Looks at the messages of a dead-letter queue of SQS, and says what the function would
do with each. --move moves those with these verdicts back to the queue:

  will-run  it has no record, or the next attempt runs, or undoes steps
  waiting   a call runs it, or limits of the function decide, and perhaps a person
  finished  it is a duplicate: the function runs nothing
  expired   its record's retention has ended: it would run again
  late      it has no record, and is so old that it may have had one
  refused   the function finds no key in it, or cannot use its record

QUEUE is a name, an ARN or a URL. --operation, --key, --body and --scope are those of
the function: with others, the verdicts are wrong. --key is a JMESPath of package
keypath, such as body.orderId; default stands for a nil key function.

A moved message has a new id, and is young again. So one whose key changes with its id
is not moved: it would run again. And --retention is needed for those without a record.
One whose failure is stored is not moved: it would come back.

A chosen message is looked at again, sent with its attributes and group, and deleted
when the send is acknowledged. A crash in between leaves it in both queues, where its
record makes the second one a duplicate. Messages are hidden for --hold meanwhile. Of
a group of a FIFO queue SQS shows ten at a time: repeat the command.

For the events of a failure destination give --to none, and a key such as
body.requestPayload.orderId. Region and credentials are those of the environment. It
needs sqs:ReceiveMessage, sqs:ChangeMessageVisibility, sqs:GetQueueAttributes,
sqs:GetQueueUrl and sqs:ListDeadLetterSourceQueues; with --move also sqs:DeleteMessage,
and sqs:SendMessage and sqs:GetQueueAttributes on the other queue.
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
	f.StringVar(&o.Body, "body", "json", "the `name` of the body's kind: json, text, sns, eventbridge or s3")
	f.StringVar(&o.Scope, "scope", "", "the `text` of Key.Scope, if all messages have the same")
	cli.DurationVar(f, &o.retention, "retention", 0, "Config.Retention of the function, a `duration`")
	f.StringVar(&o.to, "to", "", "the `name`, ARN or URL of the queue to move to; without it, the one whose dead-letter queue QUEUE is; none to look only")
	f.Func("move", "move the messages with these verdicts, a `text` such as will-run,finished", func(s string) error {
		for v := range strings.SplitSeq(s, ",") {
			if !slices.Contains(redrive.Movable, v) {
				return fmt.Errorf("%q is none of %s", v, strings.Join(redrive.Movable, ", "))
			}
			o.move = append(o.move, v)
		}
		return nil
	})
	cli.DurationVar(f, &o.hold, "hold", 10*time.Minute, "how long the messages are hidden, a `duration`")
	f.IntVar(&o.most, "max", 1000, "look at so many messages at most, a `number`")
	f.IntVar(&o.limit, "limit", 20, "show so many of them, a `number`; with --json all are shown")
	f.BoolVar(&o.data, "data", false, "show the bodies too: they may be personal data")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
}

func (o *redriveFlags) check(args []string) (*redrive.Keyer, error) {
	switch {
	case len(args) == 0:
		return nil, cli.Endf(cli.CodeUsage, "QUEUE is missing: give the name, ARN or URL of a dead-letter queue")
	case o.Operation == "" || o.Key == "":
		return nil, cli.Endf(cli.CodeUsage, "set --operation and --key to those of the function: the records are found by them")
	case o.Scope != "" && o.Key == redrive.DefaultKey:
		return nil, cli.Endf(cli.CodeUsage, "--scope excludes --key default, which has none")
	case o.hold < 10*time.Second || o.hold > 6*time.Hour:
		return nil, cli.Endf(cli.CodeUsage, "--hold is not between 10s and 6h")
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
	// A store that is silent must not keep the messages from being given back.
	queues := &store.Waits{Timeout: o.Waits.Timeout}
	if err := queues.Check(c); err != nil {
		return err
	}
	cfg, err := o.DynamoDB.Load(ctx, queues)
	if err != nil {
		return err
	}
	from, err := redrive.Open(ctx, sqs.NewFromConfig(cfg), args[0], o.hold)
	if err != nil {
		return err
	}
	r := redriving{redriveFlags: &o, queues: queues, from: from, judge: redrive.Judge{Keys: keys, Store: t, Skew: o.Skew, Retention: o.retention}}
	if err := r.aim(ctx, sqs.NewFromConfig(cfg)); err != nil {
		return err
	}
	defer r.giveBack(ctx, c.Err)
	if err := r.look(ctx); err != nil {
		return err
	}
	return r.act(ctx, c)
}
