package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/local/demo"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

const aboutDynamoDB = `
Runs a command against DynamoDB Local, which is fetched if it is missing.
Without a command, prints the endpoint and runs until it is interrupted. The
server is empty: --table creates a table for the records.
`

func runDynamoDB(ctx context.Context, to terminal, args []string) (err error) {
	f := newFlags(to, "dynamodb", aboutDynamoDB)
	name := f.String("table", "", "create a table of this `name`, and set IDEMPOTENCY_TABLE for the command")
	if err := f.Parse(args); err != nil { // flags after the command are the command's
		return &ending{code: helpOr(err)}
	}
	if *name != "" {
		server, err := withTable(ctx, to, *name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		if f.NArg() == 0 {
			fmt.Fprintln(to.err, "export IDEMPOTENCY_TABLE="+*name)
		}
	}
	code, err := dynamodblocal.Exec(f.Args())
	if err == nil && code == 0 {
		return nil
	}
	return &ending{max(code, 1), err}
}

// withTable starts a server with a table. The environment leads dynamodblocal.Exec to
// this server, and the command to the table.
func withTable(ctx context.Context, to terminal, name string) (_ *dynamodblocal.Server, err error) {
	server, err := dynamodblocal.Start(ctx, &dynamodblocal.Options{Log: to.err})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, server.Stop())
		}
	}()
	if err := dynamo.CreateTable(ctx, server.Client(), name, nil); err != nil {
		return nil, err
	}
	for _, entry := range append(server.Env(), "IDEMPOTENCY_TABLE="+name) {
		variable, value, _ := strings.Cut(entry, "=")
		if err := os.Setenv(variable, value); err != nil {
			return nil, err
		}
	}
	return server, nil
}

func runDemo(ctx context.Context, to terminal, args []string) error {
	f := newFlags(to, "demo", "Shows on a laptop what Once does, in the folder of its repository.")
	if _, err := parse(f, args, 0); err != nil {
		return err
	}
	root, err := repository()
	if err != nil {
		return err
	}
	return demo.Run(ctx, to.out, root)
}

// repository returns the folder, at or above this one, that contains the function
// which the demo compiles.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "examples", "payments", "main.go")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the demo compiles examples/payments: run it in a clone of Once's repository")
		}
		dir = up
	}
}

const aboutInvoke = `
Runs a Lambda function on this machine: a binary built for it, or the folder of
its main package. As on AWS, it sees none of the caller's environment but what
--env names, and where the AWS SDK is to go: Region, credentials, and the
endpoint of DynamoDB.

	once dynamodb --table records -- once invoke ./function --event event.json --env IDEMPOTENCY_TABLE
`

type invocation struct {
	event   string
	env     []string
	timeout time.Duration
	times   int
}

func invoke(ctx context.Context, to terminal, args []string) (err error) {
	var o invocation
	f := newFlags(to, "invoke", aboutInvoke)
	f.StringVar(&o.event, "event", "", "a `file` with the event's JSON; - is standard input")
	f.Func("env", "a variable of the function as `NAME=value`, or NAME for the value that it has here; repeatable", func(s string) error {
		o.env = append(o.env, s)
		return nil
	})
	durationVar(f, &o.timeout, "timeout", 3*time.Second, "how long the function may run, a `duration`")
	f.IntVar(&o.times, "times", 1, "a `number`: send the event so many times, one after the other")
	rest, err := parse(f, args, 1)
	if err != nil {
		return err
	}
	if len(rest) == 0 || o.event == "" || o.times < 1 {
		return endf(codeUsage, "give a FUNCTION, its --event, and --times from 1")
	}
	event, err := readFile(o.event, to.in)
	if err != nil {
		return &ending{codeUsage, err}
	}
	binary, remove, err := compiled(ctx, rest[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	function, err := lambdaruntime.Start(ctx, lambdaruntime.Function{Binary: binary, Env: environment(o.env), Log: to.err, Timeout: o.timeout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, function.Close()) }()
	for range o.times {
		answer, err := function.Invoke(ctx, event)
		if err != nil {
			return err
		}
		fmt.Fprintf(to.out, "%s\n", answer.Payload)
		if answer.FunctionError != nil {
			return answer.FunctionError
		}
	}
	return nil
}

// compiled returns the binary of a function, and how to remove it.
func compiled(ctx context.Context, function string) (binary string, remove func() error, err error) {
	info, err := os.Stat(function)
	if err != nil {
		return "", nil, &ending{codeUsage, err}
	}
	if !info.IsDir() {
		return function, func() error { return nil }, nil
	}
	binary, err = lambdaruntime.Build(ctx, function, ".")
	if err != nil {
		return "", nil, err
	}
	return binary, func() error { return os.RemoveAll(filepath.Dir(binary)) }, nil
}

// environment returns the environment of the function.
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
