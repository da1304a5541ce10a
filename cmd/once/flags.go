package main

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
)

// newFlags returns the flags of a command, with its help.
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

// parse accepts flags before, between and after arguments, of which there are up
// to most: package flag alone would read "KEY --json" as two arguments.
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

// given reports whether a flag was set, even if empty or to its default.
func given(f *flag.FlagSet, name string) bool {
	found := false
	f.Visit(func(g *flag.Flag) { found = found || g.Name == name })
	return found
}
