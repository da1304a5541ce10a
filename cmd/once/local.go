package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/local/dynamodblocal"
)

const aboutDynamoDB = `
Runs a command against DynamoDB Local, which is fetched if it is missing.
Without a command, prints the endpoint and runs until it is interrupted. The
server is empty: --table creates a table for the records.
`

func runDynamoDB(ctx context.Context, c *cli.Call) (err error) {
	name := c.String("table", "", "create a table of this `name`, and set IDEMPOTENCY_TABLE for the command")
	if err := c.Read(); err != nil { // flags after the command are the command's
		return err
	}
	if *name != "" {
		var server *dynamodblocal.Server
		if server, err = dynamodblocal.Start(ctx, &dynamodblocal.Options{Log: c.Err}); err != nil {
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
		if c.NArg() == 0 {
			fmt.Fprintln(c.Err, "export IDEMPOTENCY_TABLE="+*name)
		}
	}
	code, err := dynamodblocal.Exec(c.Args())
	if err == nil && code == 0 {
		return nil
	}
	return &cli.Ending{Code: max(code, 1), Err: err}
}
