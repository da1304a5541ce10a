package soak

import (
	"fmt"
	"strings"
	"time"
)

// finding is something that the audit found wrong.
type finding struct {
	Kind string
	// Hash is that of the key, or the name of an account or a worker.
	Hash   string
	Detail string
}

func (f finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Kind, f.Hash, f.Detail) }

// happening is the end of a call, for whoever has to find out what a finding means.
type happening struct {
	began, ended time.Duration // since the ledger was made
	delivery     string
	role         string
	outcome      string
	attempt      int64
}

func (h happening) String() string {
	return fmt.Sprintf("%.3f–%.3f s %s by %q: %s, attempt %d", h.began.Seconds(), h.ended.Seconds(), h.delivery, h.role, h.outcome, h.attempt)
}

// histories returns the history of the keys with these hashes.
func (l *ledger) histories(findings []finding) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, f := range findings {
		for _, e := range l.entries {
			if e.hash != f.Hash || seen[f.Hash] || len(seen) == historiesShown {
				continue
			}
			seen[f.Hash] = true
			fmt.Fprintf(&b, "history of %s, a %s:\n", e.hash, e.Kind)
			for _, h := range e.history {
				fmt.Fprintf(&b, "  %v\n", h)
			}
		}
	}
	return b.String()
}

const historiesShown = 5
