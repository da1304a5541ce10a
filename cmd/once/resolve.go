package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
)

const aboutResolve = `
Stores the outcome of a record in progress that only a person knows. All calls with the
key then get it, and run nothing.

--completed: the work was done. --data is its result, as JSON of the type that the
function returns; with --no-result, calls get the zero value of their type. --failed:
the work was not done, and will not be. Calls get a ReplayedError with the message.

--http is for callers of package httpapi: they get a response with this status, the
--body and each --header. From --data they get the JSON with the status 200, from
--no-result the status 204, and from --failed an error, which is the status 500 or 502.
A function with an earlier version of Once reads only --http.

A function with a Sealer reads only sealed results, unless it accepts plain data: its
calls get a ResultUnavailableError, and the key does not run again.

resolve refuses a record whose lease is live, unless --force is set: its owner runs. If
the owner finishes later, its callers get what is stored here.

What resolve has stored, it can replace, and nothing else that is finished. Some
callers may have the former result. Functions with a cache (CacheEntries) replay it
until their processes end.
`

type outcomeFlags struct {
	record.Resolution
	completed, noResult bool
	file                string // of --data, or of --body
	status              int    // of an HTTP response
	headers             http.Header
	message             string
	kind, errCode       string
}

func (o *outcomeFlags) add(f *flag.FlagSet) {
	f.BoolVar(&o.completed, "completed", false, "the work was done")
	f.StringVar(&o.file, "data", "", "a `file` with the result's JSON; - is standard input, and then --yes is needed")
	f.BoolVar(&o.noResult, "no-result", false, "with --completed: there is no result, and calls get the zero value")
	f.IntVar(&o.status, "http", 0, "for callers of package httpapi: the response's `status`")
	f.StringVar(&o.file, "body", "", "with --http, a `file` with the response's body; - is standard input, and then --yes is needed")
	o.headers = http.Header{}
	f.Func("header", "with --http, a header of the response as `name:value`; several are allowed", func(line string) error {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return errors.New("it is not name:value")
		}
		o.headers.Add(name, strings.TrimSpace(value))
		return nil
	})
	f.StringVar(&o.message, "failed", "", "the work failed permanently: the error's `message`")
	f.StringVar(&o.kind, "error-type", "OperatorError", "with --failed, the error's type `name`, on which Step Functions match")
	f.StringVar(&o.errCode, "error-code", "", "with --failed, the error's `code`")
	cli.DurationVar(f, &o.Retention, "retention", 24*time.Hour, "how long calls get the result at least, a `duration` such as 7d; never shorter than the record's own retention; required for a record that never expires. With Config.RefuseLate, at least the functions' Retention: until then a repetition is not late, and would run")
}

func resolve(ctx context.Context, c *cli.Call) error {
	var o outcomeFlags
	o.add(c.FlagSet)
	a := &action{Action: &o.Resolution, stated: &o.Statement, read: func(yes bool) error { return o.outcome(c, yes) }}
	if c.Many {
		a.Action = &unresolved{&o.Resolution}
	}
	return act(ctx, c, a)
}

// unresolved lists the records that resolve KEY would show and ask about.
type unresolved struct{ *record.Resolution }

func (o unresolved) May(r *record.Record, now time.Time, skew time.Duration) ([]record.Objection, error) {
	if r.Resolved() {
		return nil, errors.New("an operator has resolved it before: some callers may have that outcome")
	}
	return o.Resolution.May(r, now, skew)
}

func (o *outcomeFlags) outcome(c *cli.Call, yes bool) error {
	if err := o.check(c, yes); err != nil {
		return err
	}
	switch o.Stated = c.Given("retention"); {
	case !o.completed:
		return o.WithFailure(o.kind, o.message, o.errCode)
	case o.noResult:
		o.WithoutResult()
		return nil
	}
	data, err := readFile(o.file, c.In)
	switch {
	case err != nil:
		return cli.Misuse(err)
	case c.Given("http"):
		return o.WithResponse(o.status, o.headers, data)
	}
	return o.WithResult(data)
}

func (o *outcomeFlags) check(c *cli.Call, yes bool) error {
	response, file := c.Given("http"), c.Given("data") || c.Given("body")
	o.completed = o.completed || response
	switch {
	case response && (o.noResult || c.Given("data") || c.Given("failed")):
		return cli.Endf(cli.CodeUsage, "--http excludes --data, --no-result and --failed")
	case !response && (c.Given("body") || c.Given("header")):
		return cli.Endf(cli.CodeUsage, "--body and --header are for --http")
	case o.completed == c.Given("failed"):
		return cli.Endf(cli.CodeUsage, "set either --completed or --failed MESSAGE")
	case !o.completed && o.message == "":
		return cli.Endf(cli.CodeUsage, "--failed has an empty message; is a variable unset?")
	case (file || o.noResult) && !o.completed:
		return cli.Endf(cli.CodeUsage, "--data and --no-result are for --completed")
	case file && o.file == "":
		return cli.Endf(cli.CodeUsage, "--data or --body names no file; is a variable unset?")
	case !response && o.completed && o.noResult == file:
		return cli.Endf(cli.CodeUsage, "set --data FILE, --no-result or --http STATUS: all calls get the result that is stored")
	case o.file == "-" && !yes:
		return cli.Endf(cli.CodeUsage, "the file - is standard input, so that nothing can be confirmed: set --yes as well")
	case o.Retention < time.Second:
		return cli.Endf(cli.CodeUsage, "--retention is less than a second")
	}
	return nil
}

func readFile(name string, in io.Reader) ([]byte, error) {
	switch name {
	case "": // a response without a body
		return nil, nil
	case "-":
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}
