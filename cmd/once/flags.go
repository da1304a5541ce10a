package main

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
)

// newFlags makes the flags of a command, and its help.
func newFlags(t terminal, name, about string) *flag.FlagSet {
	f := flag.NewFlagSet("once "+name, flag.ContinueOnError)
	f.SetOutput(t.err)
	f.Usage = func() {
		fmt.Fprintf(t.err, "once %s\n\n%s\n\n", commands()[name].usage, strings.TrimSpace(about))
		var flags bytes.Buffer
		f.SetOutput(&flags)
		f.PrintDefaults()
		f.SetOutput(t.err)
		fmt.Fprint(t.err, strings.ReplaceAll("\n"+flags.String(), "\n  -", "\n  --")[1:])
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
