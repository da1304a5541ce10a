// Command once shows the records in a store, and settles those that need a
// person. It is a tool for operators of functions that use Once. It works on
// DynamoDB (--table), PostgreSQL (--postgres), and Redis or Valkey (--redis).
//
//	once inspect KEY      one record
//	once list             records, such as --status INPROGRESS --older-than 15m
//	once stats            counts and sizes of each operation
//	once watch            records in progress, as they change
//	once release KEY      have the next call run again
//	once resolve KEY      store the result, or the error, that all calls then get
//	once sweep            delete expired records where nothing else does
//	once check            whether the store and the caller's permissions are right
//	once migrate EVENTS   whether a Go function finds the records of Powertools
//	once postgres init    create the table of the records in PostgreSQL
//	once dynamodb -- CMD  run a command against DynamoDB Local
//	once invoke FUNCTION  run a Lambda function on this machine
//	once demo             the demo
//	once version          the version of this program
//
// KEY is the id of a record, which contains a '#'. It may also be the 12 digits
// of a key's hash that errors show; once then reads the ids of the whole table.
// With --operation it is the idempotency key itself. --scope, --jwt and the
// other flags for scopes of package handlers name the key's owner.
//
// Credentials, Region and endpoint of DynamoDB come from the places that every
// program with the AWS SDK reads. The commands that show records need
// dynamodb:GetItem and dynamodb:Scan; release and resolve need GetItem, UpdateItem
// and DeleteItem. sweep needs Scan and DeleteItem. check reports which of the
// actions that a function needs are missing.
//
// --postgres takes a connection string: postgres://user@host:5432/database, or
// "host=… user=… dbname=…". All users of the machine can see a password in a
// command. --postgres env takes the string from DATABASE_URL or, without it, its
// parts from PGHOST, PGUSER, PGPASSWORD and further variables of libpq. --redis env
// takes the URL from REDIS_URL, and the password may be in REDISCLI_AUTH.
//
// sweep is not for Redis, which deletes expired records by itself, and migrate is
// for DynamoDB only. A command that does not apply ends with code 2.
//
// A stored result may be personal data. Only inspect --data shows it.
//
// A command writes only if the record is still as it was shown. It asks for
// confirmation unless --yes is set.
//
// It exits with
//
//	0  done
//	1  failed: the database refused or could not be reached, or the function
//	   failed, or a sweep was interrupted
//	2  used wrongly
//	3  there is no such record
//	4  the record has changed since it was shown; nothing was written
//	5  the state of the record forbids it; nothing was written
//	6  not confirmed; nothing was written
//	7  a write is unacknowledged: it may have been written, or not
//	8  functions cannot use the table or its records as they are, or with the
//	   caller's permissions
//
// once dynamodb exits with the code of its command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Codes to exit with.
const (
	codeFailed         = 1
	codeUsage          = 2
	codeNoRecord       = 3
	codeChanged        = 4
	codeRefused        = 5
	codeDeclined       = 6
	codeUnacknowledged = 7
	codeNotRight       = 8
)

// ending is an error with its code.
type ending struct {
	code int
	err  error
}

func (e *ending) Error() string { return e.err.Error() }
func (e *ending) Unwrap() error { return e.err }

func endf(code int, format string, args ...any) error {
	return &ending{code, fmt.Errorf(format, args...)}
}

// terminal connects a command to its user: results go to out, all else to err.
type terminal struct {
	in       io.Reader
	out, err io.Writer
}

type command struct {
	usage, summary string
	run            func(context.Context, terminal, []string) error
}

func commands() map[string]command {
	return map[string]command{
		"inspect":  {"inspect KEY", "one record", inspect},
		"list":     {"list", "records by operation, status and age", list},
		"stats":    {"stats", "counts and sizes of each operation", stats},
		"watch":    {"watch", "what is in progress, as it changes", watch},
		"release":  {"release KEY", "have the next call run again", release},
		"resolve":  {"resolve KEY --completed|--failed MESSAGE", "store what all calls then get", resolve},
		"sweep":    {"sweep", "delete expired records where nothing else does", sweep},
		"check":    {"check", "whether the table and the caller's permissions are right", check},
		"migrate":  {"migrate --dry-run EVENTS", "whether a Go function finds the records of Powertools", migrate},
		"postgres": {"postgres init", "create the table of the records in PostgreSQL", initPostgres},
		"dynamodb": {"dynamodb [--table NAME] -- COMMAND", "run a command against DynamoDB Local", runDynamoDB},
		"invoke":   {"invoke FUNCTION --event FILE", "run a Lambda function on this machine", invoke},
		"demo":     {"demo", "show on a laptop how Once works", runDemo},
		"version":  {"version", "the version of this program", version},
	}
}

// order of the commands in the help.
func order() []string {
	return []string{"inspect", "list", "stats", "watch", "release", "resolve", "sweep", "check", "migrate", "postgres", "dynamodb", "invoke", "demo", "version"}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, terminal{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, t terminal, args []string) int {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	c, ok := commands()[name]
	switch {
	case ok:
	case name == "help", name == "-h", name == "--help":
		help(t.err)
		return 0
	case name == "":
		help(t.err)
		return codeUsage
	default:
		fmt.Fprintf(t.err, "once: there is no command %q; see once --help\n", name)
		return codeUsage
	}
	err := c.run(ctx, t, args)
	if err == nil {
		return 0
	}
	end := &ending{codeFailed, err}
	errors.As(err, &end)
	if end.err != nil {
		fmt.Fprintln(t.err, "once:", end.err)
	}
	return end.code
}

func help(w io.Writer) {
	fmt.Fprintln(w, "once shows and settles the records of Once. Each command has --help.")
	for _, name := range order() {
		c := commands()[name]
		fmt.Fprintf(w, "  once %-42s %s\n", c.usage, c.summary)
	}
}
