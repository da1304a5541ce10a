package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/bulk"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
)

func releaseMany(ctx context.Context, c *cli.Call) error {
	remove := c.Bool("delete", false, "delete the items, with their attempts, steps and results")
	return new(bulk.Flags).Run(ctx, c, &bulk.Action{
		Terms: remove,
		Read:  func() error { return nil },
		May: func(r *record.Record, now time.Time, skew time.Duration) error {
			return bulk.Weigh(r.MayRelease(now, skew, *remove))
		},
		Write: func(r *record.Record, _ time.Time) (record.Write, error) { return r.Release(*remove), nil },
	})
}

func resolveMany(ctx context.Context, c *cli.Call) error {
	var many bulk.Flags
	var o outcomeFlags
	o.add(c.FlagSet)
	return many.Run(ctx, c, &bulk.Action{
		Terms: &o.Resolution,
		Read: func() error {
			o.By, o.Reason, o.Skew = many.By, many.Reason, many.Skew
			return o.outcome(c, many.Yes)
		},
		May: func(r *record.Record, now time.Time, _ time.Duration) error {
			if r.Resolved() { // which resolve KEY shows, and asks about
				return errors.New("an operator has resolved it before: some callers may have that outcome")
			}
			return bulk.Weigh(o.May(r, now))
		},
		Write: o.Write,
	})
}

func redactMany(ctx context.Context, c *cli.Call) error {
	var many bulk.Flags
	var o record.Redaction
	return many.Run(ctx, c, &bulk.Action{
		Terms: &o,
		Read: func() error {
			o.By, o.Reason = many.By, many.Reason
			return nil
		},
		May: func(r *record.Record, now time.Time, skew time.Duration) error {
			return bulk.Weigh(o.May(r, now, skew))
		},
		Write: func(r *record.Record, _ time.Time) (record.Write, error) { return o.Write(r), nil },
	})
}

func resumeMany(ctx context.Context, c *cli.Call) error {
	var many bulk.Flags
	function := c.String("function", "", "the `name` or ARN of the function of handlers.Resume")
	return many.Run(ctx, c, &bulk.Action{
		Terms: function,
		Read: func() error {
			if *function == "" {
				return cli.Endf(cli.CodeUsage, "set --function to the function of handlers.Resume")
			}
			return nil
		},
		May: func(r *record.Record, now time.Time, skew time.Duration) error { return r.MayResume(now.Add(-skew)) },
		Write: func(*record.Record, time.Time) (w record.Write, err error) {
			w.What = fmt.Sprintf("The function %s will run its stored request as its next attempt, and finish it or undo its steps.", cli.Printable(*function))
			return w, nil
		},
		Call: func(ctx context.Context, ids []string) (bool, error) {
			report, err := invokeResume(ctx, &many.Flags, *function, ids)
			return report.Complete, err
		},
	})
}
