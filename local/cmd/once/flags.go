package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/lambda-once/once/idempotent"
)

// newFlags makes the flags of a command, and its help.
func newFlags(t terminal, name, about string) *flag.FlagSet {
	f := flag.NewFlagSet("once "+name, flag.ContinueOnError)
	f.SetOutput(t.err)
	f.Usage = func() {
		fmt.Fprintf(t.err, "once %s\n\n%s\n\n", commands()[name].usage, strings.TrimSpace(about))
		f.PrintDefaults()
	}
	return f
}

// parse takes flags before, between and behind arguments, of which there are
// up to most: package flag alone would take "KEY --json" for two arguments.
func parse(f *flag.FlagSet, args []string, most int) ([]string, error) {
	var rest []string
	for {
		if err := f.Parse(args); err != nil {
			return nil, &ending{code: helpOr(err)} // flag has said it
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		if rest = append(rest, f.Arg(0)); len(rest) > most {
			return nil, endf(codeUsage, "%q is one argument too many; see %s --help", f.Arg(0), f.Name())
		}
		args = f.Args()[1:]
	}
}

func helpOr(err error) int {
	if err == flag.ErrHelp {
		return 0
	}
	return codeUsage
}

// given says whether a flag was given, be it empty or its default.
func given(f *flag.FlagSet, name string) bool {
	found := false
	f.Visit(func(g *flag.Flag) { found = found || g.Name == name })
	return found
}

// keyFlags say which record is meant.
type keyFlags struct{ operation, scope, record string }

func (k *keyFlags) add(f *flag.FlagSet) {
	f.StringVar(&k.operation, "operation", "", "KEY is an idempotency key of this `operation`")
	f.StringVar(&k.scope, "scope", "", "the `scope` of the idempotency key; needs --operation")
	f.StringVar(&k.record, "record", "", "the `id` of the record, instead of KEY")
}

// id parses the flags, and answers the id of the record.
func (k *keyFlags) id(f *flag.FlagSet, args []string) (string, error) {
	args, err := parse(f, args, 1)
	if err != nil {
		return "", err
	}
	key := ""
	if len(args) > 0 {
		key = args[0]
	}
	switch {
	case k.record != "" && (key != "" || k.operation != "" || k.scope != ""):
		return "", endf(codeUsage, "--record excludes KEY, --operation and --scope")
	case k.record != "":
		return k.record, nil
	case key == "":
		return "", endf(codeUsage, "KEY is missing: give the id of a record, or an idempotency key with its --operation")
	case k.operation != "":
		id, err := idempotent.RecordID(k.operation, idempotent.Key{Scope: k.scope, ID: key})
		if err != nil {
			return "", &ending{codeUsage, err}
		}
		return id, nil
	case k.scope != "":
		return "", endf(codeUsage, "--scope needs the --operation")
	case strings.Contains(key, "#"):
		return key, nil
	default:
		return "", endf(codeUsage, "KEY is no id of a record (it has no '#'): give the --operation whose idempotency key it is, or --record if it is an id")
	}
}
