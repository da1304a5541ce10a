package soak

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/proof/soak/internal/job"
)

// What a worker may need more at the end than after a third of the time: goroutines
// of connections, and memory of caches and pools.
const (
	moreGoroutines = 16
	moreHeap       = 3 << 20
)

// flat requires that the workers need no more than after a third of the time.
func flat(atThird, atEnd map[string]job.Sample) (findings []finding) {
	for name, before := range atThird {
		after := atEnd[name]
		if after.Goroutines > before.Goroutines+moreGoroutines {
			findings = append(findings, finding{"goroutines", name, fmt.Sprintf("%d after a third, %d at the end", before.Goroutines, after.Goroutines)})
		}
		if after.Heap > before.Heap*5/4+moreHeap {
			findings = append(findings, finding{"heap", name, fmt.Sprintf("%d bytes after a third, %d at the end", before.Heap, after.Heap)})
		}
	}
	return findings
}

func (s *stage) summary(v verdict) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	l := s.ledger
	line("calls", "%d in %d deliveries, on %d keys; %d duplicates, %.0f%% of all that is not a retry", l.calls, l.deliveries, len(l.entries), l.duplicates, 100*float64(l.duplicates)/float64(max(l.duplicates+len(l.entries), 1)))
	line("outcomes", "%s", counts(l.outcomes))
	line("kills", "%d, %d of them with %d deliveries under way; stopped past the lease: %d", s.kills, s.killsInFlight, s.interrupted, s.freezes)
	line("requests", "%d: %s", sum(s.requests), counts(s.requests))
	line("network", "%s", counts(s.faults))
	line("errors", "%s", counts(l.errors))
	line("repeated", "%d executions: %s; at most %s in a batch", sum(v.repeated), counts(v.repeated), counts(v.worst))
	line("at the end", "%d calls to finish, %d finished keys called again", s.driven, s.replayed)
	for _, name := range slices.Sorted(maps.Keys(s.atThird)) {
		before, after := s.atThird[name], s.atEnd[name]
		line(name, "goroutines %d → %d, heap %.1f → %.1f MB", before.Goroutines, after.Goroutines, mb(before.Heap), mb(after.Heap))
	}
	line("audit", "%d findings, after %v", len(v.findings), time.Since(s.began).Round(time.Second))
	b.WriteString(l.histories(v.findings))
	return b.String()
}

func mb(bytes uint64) float64 { return float64(bytes) / 1e6 }

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

func counts(m map[string]int) string {
	if len(m) == 0 {
		return "none"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(list, ", ")
}

// err lists the findings, of each kind the first few.
func (v verdict) err() error {
	const most = 10
	var errs []error
	seen := map[string]int{}
	for _, f := range v.findings {
		if seen[f.Kind]++; seen[f.Kind] <= most {
			errs = append(errs, errors.New(f.String()))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(seen)) {
		if n := seen[kind]; n > most {
			errs = append(errs, fmt.Errorf("%s: %d more", kind, n-most))
		}
	}
	return errors.Join(errs...)
}
