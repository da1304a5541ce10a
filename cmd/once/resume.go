package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"github.com/lambda-once/once/cmd/once/internal/bulk"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/handlers"
)

const aboutResume = `
Finishes work that its caller left behind, by the function of handlers.Resume that
--function names. The function runs the stored request of each record as the next
call would: finished steps do not run again, and a saga is finished or undone. A
caller that comes back gets the result.

The scheduled rounds of the function do the same. Use resume for records that must
not wait, or that were released: a round leaves those to their callers for a while.

resume refuses records that are finished, whose lease is live, or whose request is
not stored. Whether an attempt may begin is decided by the function: a record whose
MaxAttempts are used up, or whose keys a provider may have forgotten, still waits
for "once resolve" or "once release".

KEY and the flags beside it name records as for inspect; several ids are allowed. It
needs the permission lambda:InvokeFunction.
`

type resumeFlags struct {
	recordFlags
	record.Resumption // the name of the function
	yes               bool
}

func (o *resumeFlags) check(bool) error {
	if o.Resumption == "" {
		return cli.Endf(cli.CodeUsage, "set --function to the function of handlers.Resume")
	}
	return nil
}

func resume(ctx context.Context, c *cli.Call) error {
	var o resumeFlags
	c.StringVar((*string)(&o.Resumption), "function", "", "the `name` or ARN of the function of handlers.Resume")
	if c.Many {
		many := bulk.Flags{Statement: &record.Statement{}}
		return many.Run(ctx, c, &bulk.Action{Action: &o.Resumption, Read: o.check, Call: func(ctx context.Context, ids []string) (bool, error) {
			report, err := invokeResume(ctx, &many.Flags, string(o.Resumption), ids)
			return report.Complete, err
		}})
	}
	o.recordFlags.add(c.FlagSet)
	c.BoolVar(&o.yes, "yes", false, "do not ask")
	args, err := c.Arguments(math.MaxInt)
	if err == nil {
		err = o.check(o.yes)
	}
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{""} // --record, or none
	}
	var t *store.Store
	var all []*record.Record
	for _, arg := range args {
		w, err := o.Named(arg)
		if err != nil {
			return err
		}
		if t == nil {
			if t, err = o.Open(ctx, c); err != nil {
				return err
			}
		}
		r, err := t.Find(ctx, w, store.NewProgress(c.Terminal, false))
		if err != nil {
			return err
		}
		if _, err := o.May(r, t.Now(), o.Skew); err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(other *record.Record) bool { return other.ID == r.ID }) {
			all = append(all, r)
		}
	}
	return o.resume(ctx, c.Terminal, t, all)
}

func (o *resumeFlags) resume(ctx context.Context, to cli.Terminal, t *store.Store, all []*record.Record) error {
	var ids []string
	for _, r := range all {
		r.Print(to.Err, t.Now(), t.Now().Add(-o.Skew))
		fmt.Fprintln(to.Err)
		ids = append(ids, r.ID)
	}
	fmt.Fprintf(to.Err, "The function %s will run the stored requests of these %d records, each as its next attempt: it finishes them, or undoes their steps.\n", cli.Printable(string(o.Resumption)), len(all))
	if !o.yes {
		if err := to.Confirm(ctx); err != nil {
			return err
		}
	}
	report, err := invokeResume(ctx, &o.Flags, string(o.Resumption), ids)
	if err != nil {
		return err
	}
	return o.report(to, report, len(all))
}

// invokeResume returns an error if it is not known what the function has done.
func invokeResume(ctx context.Context, o *store.Flags, function string, ids []string) (report handlers.ResumeReport, err error) {
	payload, err := json.Marshal(handlers.ResumeEvent{IDs: ids})
	if err != nil {
		return report, err
	}
	defer func(ofStore time.Duration) { o.Waits.Timeout = ofStore }(o.Waits.Timeout)
	o.Waits.Timeout = max(o.Waits.Timeout, 15*time.Minute) // the function's own, at most
	cfg, err := o.DynamoDB.Load(ctx, &o.Waits)
	if err != nil {
		return report, err
	}
	// A request whose answer is lost is not sent again: the operator decides that.
	client := lambda.NewFromConfig(cfg, func(l *lambda.Options) { l.RetryMaxAttempts = 1 })
	out, err := client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: payload})
	if err != nil {
		return report, notInvoked(function, err)
	}
	err = cli.Endf(cli.CodeFailed, "the function %s failed, or is not one of handlers.Resume: see its log, and inspect the records", function)
	switch {
	case out.FunctionError != nil: // perhaps for one of these records alone
		return report, &bulk.CallError{Err: err}
	case json.Unmarshal(out.Payload, &report) != nil || report.Operation == "":
		return report, err
	}
	return report, nil
}

func notInvoked(function string, err error) error {
	var missing *types.ResourceNotFoundException
	var busy *types.TooManyRequestsException
	var api smithy.APIError
	switch {
	case errors.As(err, &missing):
		return cli.Endf(cli.CodeFailed, "there is no function %s in this account and Region: see --region and --profile", function)
	case errors.As(err, &busy):
		return cli.Endf(cli.CodeFailed, "the function %s is busy, as one of its rounds runs: repeat the command", function)
	case errors.As(err, &api):
		return fmt.Errorf("the function %s was not invoked: %w", function, err)
	}
	return cli.Endf(cli.CodeUnacknowledged, "no answer of the function %s arrived, and it may have resumed the records: inspect them before you repeat the command: %w", function, err)
}

func tally(report handlers.ResumeReport, n int) string {
	rest := n - report.Resumed - report.Failed - report.Waiting - report.Left
	return fmt.Sprintf("%s: %d resumed, %d failed, %d wait for a person, %d cannot be resumed, %d not begun",
		cli.Printable(report.Operation), report.Resumed, report.Failed, report.Waiting, report.Left, rest)
}

func (o *resumeFlags) report(to cli.Terminal, report handlers.ResumeReport, n int) error {
	if o.JSON {
		if err := cli.WriteJSON(to.Out, report); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(to.Out, tally(report, n))
	}
	switch {
	case report.Resumed == n:
		return nil
	case report.Waiting == n:
		return cli.Endf(cli.CodeRefused, "they wait for a person: find out what was done, then resolve or release them; nothing was run")
	}
	return cli.Endf(cli.CodeFailed, "not all are resumed: inspect them, and see the log of %s; another call may have taken one over", o.Resumption)
}
