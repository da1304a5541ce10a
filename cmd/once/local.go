package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/local/demo"
	"github.com/lambda-once/once/local/dynamodblocal"
)

const aboutDynamoDB = `
Runs a command against DynamoDB Local, which is fetched if it is missing.
Without a command, prints the endpoint and runs until it is interrupted. The
server is empty: --table creates a table for the records.
`

func runDynamoDB(ctx context.Context, to terminal, args []string) (err error) {
	f := newFlags(to, "dynamodb", aboutDynamoDB)
	name := f.String("table", "", "create a table of this `name`, and set IDEMPOTENCY_TABLE for the command")
	if err := read(f, args); err != nil { // flags after the command are the command's
		return err
	}
	if *name != "" {
		server, err := dynamodblocal.Start(ctx, &dynamodblocal.Options{Log: to.err})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		if err := dynamo.CreateTable(ctx, server.Client(), *name, nil); err != nil {
			return err
		}
		// They lead dynamodblocal.Exec to this server, and the command to the table.
		for _, entry := range append(server.Env(), "IDEMPOTENCY_TABLE="+*name) {
			variable, value, _ := strings.Cut(entry, "=")
			if err := os.Setenv(variable, value); err != nil {
				return err
			}
		}
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
	for ; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "examples", "payments", "main.go"))
		switch {
		case err == nil:
			return dir, nil
		case dir == filepath.Dir(dir):
			return "", errors.New("the demo compiles examples/payments: run it in a clone of Once's repository")
		}
	}
}
