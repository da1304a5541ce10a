package main

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

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
	s := time.Duration(*d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
