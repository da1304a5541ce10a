package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/postgres"
)

const aboutPostgres = `
Creates the table of the records and its index in PostgreSQL, or checks the columns of
one that exists. Run it as a role that may create tables. The role of the functions needs
SELECT, INSERT, UPDATE and DELETE on the table. --print prints the statements and
connects to nothing: they are for a migration.

--dsql is for Aurora DSQL. The table is idempotency without --table and
$IDEMPOTENCY_TABLE. The connection is --postgres, as in all commands.
`

func initPostgres(ctx context.Context, c *cli.Call) error {
	var o store.Flags
	o.Add(c.FlagSet)
	c.BoolVar(&o.Postgres.Options.DSQL, "dsql", false, "the database is Aurora DSQL")
	print := c.Bool("print", false, "print the statements, and run nothing")
	args, err := c.Arguments(1)
	switch {
	case err != nil:
		return err
	case len(args) == 0 || args[0] != "init":
		return cli.Endf(cli.CodeUsage, "give init: it is the only command of once postgres")
	case !*print && o.Postgres.Connection == "":
		return cli.Endf(cli.CodeUsage, "set --postgres to a connection string, or to env, or set --print")
	}
	o.Postgres.Connection = cmp.Or(o.Postgres.Connection, store.FromEnvironment) // for the check of the flags
	if err := o.Check(c); err != nil {
		return err
	}
	statements, err := postgres.SQL(o.Table, &o.Postgres.Options)
	switch {
	case err != nil:
		return cli.Misuse(err)
	case *print:
		_, err := fmt.Fprint(c.Out, strings.Join(statements, ";\n"), ";\n")
		return err
	}
	pool, err := o.Postgres.Pool(ctx, &o.Waits)
	if err != nil {
		return err
	}
	if err := postgres.CreateTable(ctx, pool, o.Table, &o.Postgres.Options); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "table %s is there, with the columns that functions need\n", o.Table)
	return err
}
