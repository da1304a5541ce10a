package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// call is a run of a command, with its terminal, flags and arguments.
type call struct {
	terminal
	*flag.FlagSet
	args []string
}

// newCall returns a call without flags, but with its help.
func newCall(c command, t terminal, args []string) *call {
	f := flag.NewFlagSet("once "+c.name(), flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(t.err, "once %s\n\n%s\n\n", c.usage, strings.TrimSpace(c.about))
		var flags bytes.Buffer
		f.SetOutput(&flags)
		f.PrintDefaults()
		fmt.Fprint(t.err, strings.ReplaceAll("\n"+flags.String(), "\n  -", "\n  --")[1:])
	}
	return &call{t, f, args}
}

// read reads flags up to the first argument that is none. Package flag alone would
// print a mistake above the whole help, which hides it.
func (c *call) read() error {
	help := c.Usage
	c.Usage = func() {}
	c.SetOutput(io.Discard)
	err := c.Parse(c.args)
	c.Usage = help
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.Usage()
		return &ending{}
	case err != nil:
		return endf(codeUsage, "%w; see %s --help", err, c.Name())
	}
	return nil
}

// parse accepts flags before, between and after arguments, of which there are up
// to most: package flag alone would read "KEY --json" as two arguments.
func (c *call) parse(most int) (args []string, err error) {
	for {
		if err := c.read(); err != nil {
			return nil, err
		}
		if c.NArg() == 0 {
			return args, nil
		}
		if args = append(args, c.Arg(0)); len(args) > most {
			return nil, endf(codeUsage, "%q is one argument too many; see %s --help", c.Arg(0), c.Name())
		}
		c.args = c.Args()[1:]
	}
}

// given reports whether a flag was set, even if empty or to its default.
func (c *call) given(name string) (found bool) {
	c.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// list adds a flag that may be repeated.
func (c *call) list(name, usage string, to *[]string) {
	c.Func(name, usage+"; repeatable", func(s string) error {
		*to = append(*to, s)
		return nil
	})
}

// duration is a flag with the units of retentions: 7d and 2w besides those of
// package time. A day has 24 hours.
type duration time.Duration

func durationVar(f *flag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	f.Var((*duration)(p), name, usage)
}

var (
	longUnits = regexp.MustCompile(`(?s)^(-?)((?:\d+[wd])*)(.*)$`)
	longUnit  = regexp.MustCompile(`\d+[wd]`)
	zeroUnits = regexp.MustCompile(`(?:(h)0m|(m))0s$`)
)

var errDuration = errors.New("it is not a duration such as 90s, 15m, 36h, 7d or 1d12h")

// Set replaces weeks and days, which come first, by hours for package time.
func (d *duration) Set(s string) error {
	parts := longUnits.FindStringSubmatch(s)
	hours := longUnit.ReplaceAllStringFunc(parts[2], func(unit string) string {
		n, err := strconv.ParseInt(unit[:len(unit)-1], 10, 32)
		if err != nil {
			return unit // package time refuses it
		}
		if strings.HasSuffix(unit, "w") {
			n *= 7
		}
		return fmt.Sprint(24*n, "h")
	})
	total, err := time.ParseDuration(parts[1] + hours + parts[3])
	if err != nil {
		return errDuration
	}
	*d = duration(total)
	return nil
}

// String omits zero units: 24h, not 24h0m0s.
func (d *duration) String() string {
	return zeroUnits.ReplaceAllString(time.Duration(*d).String(), "$1$2")
}
