package cli

import (
	"flag"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
)

func TestRelativeTimesAreCoarseWhenFar(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"0s ago":         now,
		"59s ago":        now.Add(-59 * time.Second),
		"in 1m":          now.Add(90 * time.Second),
		"47h59m ago":     now.Add(-48*time.Hour + time.Second),
		"2 days ago":     now.Add(-50 * time.Hour),
		"in 355422 days": time.Date(3000, 1, 1, 12, 0, 0, 0, time.UTC),
	} {
		check.Equal(t, Relative(at, now), want, at)
	}
}

func TestDurationsHaveDaysAndWeeks(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"7d": 7 * day, "2w": 14 * day, "1d12h": day + 12*time.Hour, "1w2d3h4m": 9*day + 3*time.Hour + 4*time.Minute,
		"720h": 30 * day, "1.5h": 90 * time.Minute, "0": 0, "0d": 0, "-2h": -2 * time.Hour, "-1d": -day,
	} {
		var got time.Duration
		f := flag.NewFlagSet("", flag.ContinueOnError)
		DurationVar(f, &got, "d", time.Minute, "")
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
