// Command once shows the records in a store, and changes those that need a
// person. It is a tool for operators of functions that use Once. It works on
// DynamoDB (--table), PostgreSQL (--postgres), and Redis or Valkey (--redis).
//
// once --help lists the commands, and each command has --help. docs/operate.md describes
// them, the flags of the stores and the permissions that they need.
//
// A command writes only if the record is still as it was shown, and asks for confirmation
// unless --yes is set. A stored result may be personal data: only inspect --data shows it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/lambda-once/once/cmd/once/internal/bulk"
	"github.com/lambda-once/once/cmd/once/internal/cli"
)

var commands = []cli.Command{
	{Usage: "inspect KEY", Summary: "one record", About: "Shows one record, and what can be done about it.", Run: inspect},
	{Usage: "list", Summary: "records by operation, status and age", About: aboutList, Run: list},
	{Usage: "stats", Summary: "counts and sizes of each operation", About: aboutStats, Run: stats},
	{Usage: "release KEY", Summary: "have the next call run again", About: aboutRelease, Run: release, Many: true},
	{Usage: "resolve KEY --completed|--failed MESSAGE", Summary: "store what all calls then get", About: aboutResolve, Run: resolve, Many: true},
	{Usage: "redact KEY", Summary: "remove a person's data, and run nothing again", About: aboutRedact, Run: redact, Many: true},
	{Usage: "resume KEY --function NAME", Summary: "finish work that its caller left behind", About: aboutResume, Run: resume, Many: true},
	{Usage: "redrive QUEUE --operation OP --key KEY", Summary: "dead letters beside their records, and back to their queue", About: aboutRedrive, Run: redriveMessages},
	{Usage: "outbox [--publish]", Summary: "messages that no relay has published, and again", About: aboutOutbox, Run: outboxItems},
	{Usage: "ui", Summary: "a page on this machine that shows the records", About: aboutUI, Run: ui},
	{Usage: "sweep", Summary: "delete expired records where nothing else does", About: aboutSweep, Run: sweep},
	{Usage: "check", Summary: "whether the table, a function and its permissions are right", About: aboutCheck, Run: checkStore},
	{Usage: "policy --table ARN", Summary: "the permissions that a role needs", About: aboutPolicy, Run: printPolicy},
	{Usage: "alarms --function ID", Summary: "the alarms of a function, for a SAM template", About: aboutAlarms, Run: alarms},
	{Usage: "migrate --dry-run EVENTS", Summary: "whether a Go function finds the records of Powertools", About: aboutMigrate, Run: migrate},
	{Usage: "postgres init", Summary: "create the table of the records in PostgreSQL", About: aboutPostgres, Run: initPostgres},
	{Usage: "dynamodb [--table NAME] -- COMMAND", Summary: "run a command against DynamoDB Local", About: aboutDynamoDB, Run: runDynamoDB},
	{Usage: "invoke FUNCTION --event FILE", Summary: "run a Lambda function on this machine", About: aboutInvoke, Run: invoke},
	{Usage: "load TARGET --event FILE", Summary: "send duplicates to a deployed function, and count its answers", About: aboutLoad, Run: load},
	{Usage: "version", Summary: "the version of this program", About: "Prints the version of this program, and of Go.", Run: version},
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // before the command says that it ends: the next one ends the process
		cancel()
	}()
	os.Exit(run(ctx, cli.Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
}

func run(ctx context.Context, t cli.Terminal, args []string) int {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	i := slices.IndexFunc(commands, func(c cli.Command) bool { return c.Name() == name })
	switch {
	case i >= 0:
	case (name == "help" || name == "-h" || name == "--help") && len(args) == 0:
		help(t.Err)
		return 0
	case name == "help":
		return run(ctx, t, append(args, "--help"))
	case name == "":
		help(t.Err)
		return cli.CodeUsage
	default:
		fmt.Fprintf(t.Err, "once: there is no command %q; see once --help\n", name)
		return cli.CodeUsage
	}
	command := commands[i]
	many := command.Many && bulk.Meant(args)
	if many {
		command.Usage, command.About = command.Name()+" --state|--error|... --journal FILE", command.About+bulk.About
	} else if command.Many {
		command.About += "\nFor all records of a selection, see once " + command.Name() + " --dry-run --help.\n"
	}
	call := cli.NewCall(command, t, args)
	call.Many = many
	err := command.Run(ctx, call)
	if err == nil {
		return 0
	}
	end := &cli.Ending{Code: cli.CodeFailed, Err: err}
	errors.As(err, &end)
	if end.Err != nil {
		fmt.Fprintln(t.Err, "once:", end.Err)
	}
	return end.Code
}

func help(w io.Writer) {
	fmt.Fprintln(w, "once shows and changes the records of Once. Each command has --help.")
	for _, c := range commands {
		fmt.Fprintf(w, "  once %-42s %s\n", c.Usage, c.Summary)
	}
}

// version prints the module's version, or the commit that the program was built
// from, and the version of Go.
func version(_ context.Context, c *cli.Call) error {
	if _, err := c.Arguments(0); err != nil {
		return err
	}
	built := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = cmp.Or(info.Main.Version, built)
	}
	_, err := fmt.Fprintf(c.Out, "once %s, %s %s/%s\n", built, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
