package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// newFlags returns the flags of a command, with its help.
func newFlags(t terminal, name, about string) *flag.FlagSet {
	f := flag.NewFlagSet("once "+name, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(t.err, "once %s\n\n%s\n\n", commands()[name].usage, strings.TrimSpace(about))
		var flags bytes.Buffer
		f.SetOutput(&flags)
		f.PrintDefaults()
		fmt.Fprint(t.err, strings.ReplaceAll("\n"+flags.String(), "\n  -", "\n  --")[1:])
	}
	return f
}

// read reads flags up to the first argument that is none. Package flag alone would
// print a mistake above the whole help, which hides it.
func read(f *flag.FlagSet, args []string) error {
	help := f.Usage
	f.Usage = func() {}
	f.SetOutput(io.Discard)
	err := f.Parse(args)
	f.Usage = help
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.Usage()
		return &ending{}
	case err != nil:
		return endf(codeUsage, "%w; see %s --help", err, f.Name())
	}
	return nil
}

// parse accepts flags before, between and after arguments, of which there are up
// to most: package flag alone would read "KEY --json" as two arguments.
func parse(f *flag.FlagSet, args []string, most int) ([]string, error) {
	var rest []string
	for {
		if err := read(f, args); err != nil {
			return nil, err
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

// given reports whether a flag was set, even if empty or to its default.
func given(f *flag.FlagSet, name string) bool {
	found := false
	f.Visit(func(g *flag.Flag) { found = found || g.Name == name })
	return found
}
