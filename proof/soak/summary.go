package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (s *stage) summary(a *auditor) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	l := s.ledger
	line("calls", "%d in %d deliveries, on %d keys; %d duplicates, %.0f%% of all that is not a retry",
		l.calls, l.deliveries, len(l.entries), l.duplicates, 100*float64(l.duplicates)/float64(max(l.duplicates+len(l.entries), 1)))
	line("outcomes", "%s", encode(l.outcomes))
	line("kills", "%d, %d of them with %d deliveries under way; stopped past the lease: %d", s.kills, s.killsInFlight, s.interrupted, s.freezes)
	line("requests", "%d: %s", sum(s.weather.requests), encode(s.weather.requests))
	line("network", "%s", encode(s.weather.faults))
	line("errors", "%s", encode(l.errors))
	line("repeated", "%d executions: %s; at most %s in a batch", sum(a.repeated), encode(a.repeated), encode(a.worst))
	line("at the end", "%d calls to finish, %d finished keys called again", s.driven, s.replayed)
	for _, name := range slices.Sorted(maps.Keys(s.atThird)) {
		before, after := s.atThird[name], s.atEnd[name]
		line(name, "goroutines %d → %d, heap %.1f → %.1f MB", before.Goroutines, after.Goroutines, float64(before.Heap)/1e6, float64(after.Heap)/1e6)
	}
	line("audit", "%d findings, after %v", len(a.found), time.Since(l.began).Round(time.Second))
	b.WriteString(l.histories(a.found))
	return b.String()
}

const historiesShown = 5

// histories returns the history of the first keys that were found.
func (l *ledger) histories(found findings) string {
	var b strings.Builder
	seen := map[*entry]bool{}
	for _, f := range found {
		for _, e := range l.entries {
			if e.hash != f.Hash || seen[e] || len(seen) == historiesShown {
				continue
			}
			seen[e] = true
			fmt.Fprintf(&b, "history of %s, a %s:\n", e.hash, e.Kind)
			for _, h := range e.history {
				fmt.Fprintf(&b, "  %s\n", h)
			}
		}
	}
	return b.String()
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
