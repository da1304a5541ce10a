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
)

// commands in the order of the help.
var commands = []command{
	{"inspect KEY", "one record", "Shows one record, and what can be done about it.", inspect},
	{"list", "records by operation, status and age", aboutList, list},
	{"stats", "counts and sizes of each operation", aboutStats, stats},
	{"release KEY", "have the next call run again", aboutRelease, release},
	{"resolve KEY --completed|--failed MESSAGE", "store what all calls then get", aboutResolve, resolve},
	{"resume ID... --function NAME", "finish work that its caller left behind", aboutResume, resume},
	{"sweep", "delete expired records where nothing else does", aboutSweep, sweep},
	{"check", "whether the table, a function and its permissions are right", aboutCheck, checkStore},
	{"policy --table ARN", "the permissions that a role needs", aboutPolicy, printPolicy},
	{"alarms --function ID", "the alarms of a function, for a SAM template", aboutAlarms, alarms},
	{"migrate --dry-run EVENTS", "whether a Go function finds the records of Powertools", aboutMigrate, migrate},
	{"postgres init", "create the table of the records in PostgreSQL", aboutPostgres, initPostgres},
	{"dynamodb [--table NAME] -- COMMAND", "run a command against DynamoDB Local", aboutDynamoDB, runDynamoDB},
	{"invoke FUNCTION --event FILE", "run a Lambda function on this machine", aboutInvoke, invoke},
	{"demo", "show on a laptop how Once works", "Shows on a laptop what Once does, in the folder of its repository.", runDemo},
	{"version", "the version of this program", "Prints the version of this program, and of Go.", version},
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
	os.Exit(run(ctx, terminal{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

func run(ctx context.Context, t terminal, args []string) int {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name() == name })
	switch {
	case i >= 0:
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
	err := commands[i].run(ctx, newCall(commands[i], t, args))
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
	fmt.Fprintln(w, "once shows and changes the records of Once. Each command has --help.")
	for _, c := range commands {
		fmt.Fprintf(w, "  once %-42s %s\n", c.usage, c.summary)
	}
}

// version prints the module's version, or the commit that the program was built
// from, and the version of Go.
func version(_ context.Context, c *call) error {
	if _, err := c.parse(0); err != nil {
		return err
	}
	built := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = cmp.Or(info.Main.Version, built)
	}
	_, err := fmt.Fprintf(c.out, "once %s, %s %s/%s\n", built, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
