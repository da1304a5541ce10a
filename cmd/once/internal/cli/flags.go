package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

type Call struct {
	Terminal
	*flag.FlagSet
	Many bool // it is for all records of a selection
	args []string
}

func NewCall(c Command, t Terminal, args []string) *Call {
	f := flag.NewFlagSet("once "+c.Name(), flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(t.Err, "once %s\n\n%s\n\n", c.Usage, strings.TrimSpace(c.About))
		var flags bytes.Buffer
		f.SetOutput(&flags)
		f.PrintDefaults()
		fmt.Fprint(t.Err, strings.ReplaceAll("\n"+flags.String(), "\n  -", "\n  --")[1:])
	}
	return &Call{Terminal: t, FlagSet: f, args: args}
}

// Read reads flags up to the first argument that is none. Package flag alone would
// print a mistake above the whole help, which hides it.
func (c *Call) Read() error {
	help := c.Usage
	c.Usage = func() {}
	c.SetOutput(io.Discard)
	err := c.Parse(c.args)
	c.Usage = help
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.Usage()
		return &Ending{}
	case err != nil && c.Many:
		return Endf(CodeUsage, "%w; see %s --dry-run --help: this is a run on all records of a selection, not on one of a KEY", err, c.Name())
	case err != nil:
		return Endf(CodeUsage, "%w; see %s --help", err, c.Name())
	}
	return nil
}

// Arguments accepts flags before, between and after arguments, of which there are up
// to most: package flag alone would read "KEY --json" as two arguments.
func (c *Call) Arguments(most int) (args []string, err error) {
	for {
		if err := c.Read(); err != nil {
			return nil, err
		}
		if c.NArg() == 0 {
			return args, nil
		}
		if args = append(args, c.Arg(0)); len(args) > most {
			return nil, Endf(CodeUsage, "%q is one argument too many; see %s --help", c.Arg(0), c.Name())
		}
		c.args = c.Args()[1:]
	}
}

// Given reports whether a flag was set, even if empty or to its default.
func (c *Call) Given(name string) (found bool) {
	c.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

func (c *Call) List(name, usage string, to *[]string) {
	c.Func(name, usage+"; repeatable", func(s string) error {
		*to = append(*to, s)
		return nil
	})
}
