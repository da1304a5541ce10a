package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/lambda-once/once/cmd/once/internal/bulk"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/handlers"
)

const aboutResume = `
Finishes work that its caller left behind, by the function of handlers.Resume that
--function names. The function runs the stored request as the next call would:
finished steps do not run again, and a saga is finished or undone. A caller that
comes back gets the result.

The scheduled rounds of the function do the same. Use resume for records that must
not wait, or that were released: a round leaves those to their callers for a while.

resume refuses records that are finished, whose lease is live, or whose request is
not stored. Whether an attempt may begin is decided by the function: a record whose
MaxAttempts are used up, or whose keys a provider may have forgotten, still waits
for "once resolve" or "once release".

It needs the permission lambda:InvokeFunction.
`

func resume(ctx context.Context, c *cli.Call) error {
	var o record.Resumption
	c.StringVar((*string)(&o), "function", "", "the `name` or ARN of the function of handlers.Resume")
	return act(ctx, c, &action{
		Action: &o,
		read: func(bool) error {
			if o == "" {
				return cli.Endf(cli.CodeUsage, "set --function to the function of handlers.Resume")
			}
			return nil
		},
		call: func(ctx context.Context, f *store.Flags, id string) (handlers.ResumeReport, error) {
			return invokeResume(ctx, f, string(o), id)
		},
	})
}

// invokeResume returns an error if the outcome of the function is not known.
func invokeResume(ctx context.Context, o *store.Flags, function, id string) (report handlers.ResumeReport, err error) {
	payload, err := json.Marshal(handlers.ResumeEvent{IDs: []string{id}})
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
	const advice = "the function %s failed, or is not one of handlers.Resume: see its log, and inspect the record"
	switch {
	case out.FunctionError != nil: // perhaps for this record alone
		return report, &bulk.CallError{Err: cli.Endf(cli.CodeFailed, advice, function)}
	case json.Unmarshal(out.Payload, &report) != nil || report.Operation == "":
		return report, cli.Endf(cli.CodeUnacknowledged, advice, function)
	}
	return report, nil
}

func notInvoked(function string, err error) error {
	var missing *types.ResourceNotFoundException
	var busy *types.TooManyRequestsException
	var answer *smithyhttp.ResponseError
	switch {
	case errors.As(err, &missing):
		return cli.Endf(cli.CodeFailed, "there is no function %s in this account and Region: see --region and --profile", function)
	case errors.As(err, &busy):
		return cli.Endf(cli.CodeFailed, "the function %s is busy, as one of its rounds runs: repeat the command", function)
	case errors.As(err, &answer) && answer.HTTPStatusCode()/100 == 4: // after any other, it may have run
		return fmt.Errorf("the function %s was not invoked: %w", function, err)
	}
	return cli.Endf(cli.CodeUnacknowledged, "no answer of the function %s arrived, and it may have resumed the record: inspect it before you repeat the command: %w", function, err)
}

func tally(report handlers.ResumeReport) string {
	rest := 1 - report.Resumed - report.Failed - report.Waiting - report.Left
	return fmt.Sprintf("%s: %d resumed, %d failed, %d waits for a person, %d cannot be resumed, %d not begun",
		cli.Printable(report.Operation), report.Resumed, report.Failed, report.Waiting, report.Left, rest)
}

func resumed(to io.Writer, report handlers.ResumeReport, asJSON bool) (err error) {
	if asJSON {
		err = cli.WriteJSON(to, report)
	} else {
		_, err = fmt.Fprintln(to, tally(report))
	}
	switch {
	case err != nil || report.Resumed == 1:
		return err
	case report.Waiting == 1:
		return cli.Endf(cli.CodeRefused, "it waits for a person: find out what was done, then resolve or release it; nothing was run")
	}
	return cli.Endf(cli.CodeFailed, "it is not resumed: inspect it, and see the log of the function; another call may have taken it over")
}
