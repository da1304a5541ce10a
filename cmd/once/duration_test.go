package main

import (
	"flag"
	"testing"
	"time"
)

func TestDurationsHaveDaysAndWeeks(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"7d": 7 * day, "2w": 14 * day, "1d12h": day + 12*time.Hour, "1w2d3h4m": 9*day + 3*time.Hour + 4*time.Minute,
		"720h": 30 * day, "1.5h": 90 * time.Minute, "0": 0, "0d": 0, "-2h": -2 * time.Hour, "-1d": -day,
	} {
		var got time.Duration
		f := flag.NewFlagSet("", flag.ContinueOnError)
		durationVar(f, &got, "d", time.Minute, "")
		if err := f.Set("d", text); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "d", "7 d", "1.5d", "7days", "1d-2h", "1h2d", "99999999999999d", "106751d24h", "--1d"} {
		d := duration(time.Minute)
		if err := d.Set(text); err != errDuration || d != duration(time.Minute) {
			t.Errorf("%q: %v, %v", text, time.Duration(d), err)
		}
	}
}
