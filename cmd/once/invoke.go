package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/lambdaruntime"
)

const aboutInvoke = `
Runs a Lambda function on this machine: a binary built for it, or the folder of
its main package. As on AWS, it sees none of the caller's environment but what
--env names, and where the AWS SDK is to go: Region, credentials, and the
endpoint of DynamoDB.

	once dynamodb --table records -- once invoke ./function --event event.json --env IDEMPOTENCY_TABLE --times 2

Responses go to standard output; the function's log, and a line for each call, to
standard error. On DynamoDB Local the line says whether the handler ran.
`

func invoke(ctx context.Context, c *cli.Call) (err error) {
	var extra []string
	var timeout time.Duration
	file := c.String("event", "", "a `file` with the event's JSON; - is standard input")
	c.List("env", "a variable of the function as `NAME=value`, or NAME for the value that it has here", &extra)
	cli.DurationVar(c.FlagSet, &timeout, "timeout", 10*time.Second, "how long the function may run, a `duration`; the default is that of package infra")
	times := c.Int("times", 1, "a `number`: send the event so many times, one after the other")
	rest, err := c.Arguments(1)
	if err != nil {
		return err
	}
	if len(rest) == 0 || *file == "" || *times < 1 {
		return cli.Endf(cli.CodeUsage, "give a FUNCTION, its --event, and --times from 1")
	}
	event, err := readFile(*file, c.In)
	switch {
	case err != nil:
		return cli.Misuse(err)
	case !json.Valid(event):
		return cli.Endf(cli.CodeUsage, "the event is not JSON: %s", *file)
	}
	binary := rest[0]
	info, err := os.Stat(binary)
	if err != nil {
		return cli.Misuse(err)
	}
	if info.IsDir() {
		if binary, err = lambdaruntime.Build(ctx, binary, "."); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(binary))) }()
	}
	watched, env, err := watchTable(environment(extra))
	if err != nil {
		return err
	}
	if watched != nil {
		// Its errors are of calls that the function saw fail.
		defer func() { _ = watched.Close() }()
	}
	function, err := lambdaruntime.Start(ctx, lambdaruntime.Function{Binary: binary, Env: env, Log: c.Err, Timeout: timeout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, function.Close()) }()
	var failed error
	for call := range *times {
		response, err := function.Invoke(ctx, event)
		if err != nil {
			return withoutOutput(err)
		}
		fmt.Fprintf(c.Out, "%s\n", response.Payload)
		fmt.Fprintf(c.Err, "call %d of %d: %s", call+1, *times, response.Duration.Round(time.Millisecond))
		if watched != nil {
			fmt.Fprintf(c.Err, ", %s", watched.said())
		}
		fmt.Fprintln(c.Err)
		if response.FunctionError != nil {
			failed = &cli.Ending{Code: cli.CodeFailed} // the response says it
		}
	}
	return failed
}

// withoutOutput leaves out the function's output, which its log has shown.
func withoutOutput(err error) error {
	var start *lambdaruntime.InitError
	var crash *lambdaruntime.CrashedError
	switch {
	case errors.As(err, &start):
		return cli.Endf(cli.CodeFailed, "the function did not start: %s; a binary must be built for this machine, as once invoke does with the folder of its main package", start.Status)
	case errors.As(err, &crash):
		return cli.Endf(cli.CodeFailed, "the function's process ended: %s", crash.Status)
	}
	return err
}

func environment(extra []string) []string {
	var env []string
	sdk := []string{"AWS_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE"}
	for _, entry := range append(sdk, extra...) {
		if strings.Contains(entry, "=") {
			env = append(env, entry)
		} else if value, ok := os.LookupEnv(entry); ok {
			env = append(env, entry+"="+value)
		}
	}
	return env
}

// tableCalls is a proxy between a function and DynamoDB Local. It notes the requests
// to the table of the records, which show whether a call ran its handler.
type tableCalls struct {
	*wire.Proxy
	table string

	mu    sync.Mutex
	calls []string
	wrote bool
}

// watchTable starts a proxy in front of the endpoint that env names, and leads env to
// it. Without an endpoint of DynamoDB Local or a table in env, it returns nil.
func watchTable(env []string) (_ *tableCalls, _ []string, err error) {
	const endpoint, table = "AWS_ENDPOINT_URL_DYNAMODB=", "IDEMPOTENCY_TABLE="
	t, at := &tableCalls{}, -1
	for i, entry := range env {
		if name, ok := strings.CutPrefix(entry, table); ok {
			t.table = name
		}
		if strings.HasPrefix(entry, endpoint+"http://") {
			at = i
		}
	}
	if t.table == "" || at < 0 {
		return nil, env, nil
	}
	if t.Proxy, err = wire.HTTP(strings.TrimPrefix(env[at], endpoint), t.carry); err != nil {
		return nil, nil, cli.Endf(cli.CodeUsage, "%s: %w", endpoint, err)
	}
	env[at] = endpoint + t.URL()
	return t, env, nil
}

func (t *tableCalls) carry(r *wire.Request) (*wire.Response, error) {
	answer, err := r.Send()
	if err != nil {
		// Not an error of the command: the function decides how to handle it.
		return &wire.Response{Status: http.StatusBadGateway}, nil
	}
	body := bytes.ReplaceAll(r.Body, []byte(`\"`), []byte(`"`)) // PartiQL is in a string
	if !bytes.Contains(body, []byte(`"`+t.table+`"`)) {
		return answer, nil
	}
	operation := r.Operation
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case answer.Status >= 300, operation == "BatchExecuteStatement" && allRefused(answer.Body):
		operation += " refused"
	case operation != "GetItem" && operation != "BatchGetItem":
		t.wrote = true
	}
	t.calls = append(t.calls, operation)
	return answer, nil
}

func allRefused(body []byte) bool {
	type statement struct{ Error *struct{ Code string } }
	var batch struct{ Responses []statement }
	if err := json.Unmarshal(body, &batch); err != nil {
		return false
	}
	return !slices.ContainsFunc(batch.Responses, func(s statement) bool { return s.Error == nil })
}

func (t *tableCalls) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	did, calls := "the handler did not run", t.calls
	if t.wrote {
		did = "the handler ran"
	}
	t.calls, t.wrote = nil, false
	if len(calls) == 0 {
		return "no request to table " + t.table
	}
	return fmt.Sprintf("%s (%s)", did, strings.Join(calls, ", "))
}
