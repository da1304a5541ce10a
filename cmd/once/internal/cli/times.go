package cli

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

// DurationVar adds a flag that takes 7d and 2w besides the units of package time.
func DurationVar(f *flag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
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

type Moment struct {
	text  string
	IsSet bool
	At    time.Time
}

func (m *Moment) String() string { return m.text }

func (m *Moment) Set(s string) error {
	var ago duration
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		at, err = time.ParseInLocation(time.DateOnly, s, time.UTC)
	}
	if err != nil && ago.Set(s) == nil && ago >= 0 {
		at, err = time.Now().Add(-time.Duration(ago)), nil
	}
	if err != nil {
		return fmt.Errorf("it is no time such as 24h, 7d, %s or %s", time.DateOnly, strings.Replace(time.RFC3339, "Z07:00", "Z", 1))
	}
	*m = Moment{s, true, at}
	return nil
}

func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// Relative returns a time as a person would say it, coarser if it is far. It does
// not use Sub: a Duration ends at 292 years, and records contain the year 9999.
func Relative(t, now time.Time) string {
	seconds := now.Unix() - t.Unix()
	if seconds < 0 {
		return "in " + coarse(-seconds)
	}
	return coarse(seconds) + " ago"
}

func coarse(seconds int64) string {
	const minute, day = 60, 24 * 60 * 60
	switch {
	case seconds >= 2*day:
		return fmt.Sprintf("%d days", seconds/day)
	case seconds >= minute:
		return strings.TrimSuffix((time.Duration(seconds/minute) * time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%ds", seconds)
}
