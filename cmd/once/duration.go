package main

import (
	"errors"
	"flag"
	"math"
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

var longUnits = regexp.MustCompile(`^(\d+)(w|d)`)

var errDuration = errors.New("it is not a duration such as 90s, 15m, 36h, 7d or 1d12h")

// Set parses weeks and days, then the units of package time.
func (d *duration) Set(s string) error {
	rest, negative := strings.CutPrefix(s, "-")
	var total time.Duration
	for m := longUnits.FindStringSubmatch(rest); m != nil; m = longUnits.FindStringSubmatch(rest) {
		unit := 24 * time.Hour
		if m[2] == "w" {
			unit *= 7
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > math.MaxInt64/int64(unit) || total > math.MaxInt64-time.Duration(n)*unit {
			return errDuration
		}
		total, rest = total+time.Duration(n)*unit, rest[len(m[0]):]
	}
	if rest != "" || total == 0 && !strings.ContainsAny(s, "wd") {
		short, err := time.ParseDuration(rest)
		if err != nil || short < 0 || total > math.MaxInt64-short {
			return errDuration
		}
		total += short
	}
	if negative {
		total = -total
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
