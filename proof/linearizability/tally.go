package linearizability

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tally counts what the histories contain, because a check of histories in which
// nothing happens is worth nothing.
type tally struct {
	held, refused, unanswered, copied [kinds]int
	outcomes                          map[string]int
	runs                              int
}

func (c *tally) requests(h *history) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.requests {
		switch {
		case o.unknown:
			c.unanswered[o.kind]++
		case o.ok:
			c.held[o.kind]++
		default:
			c.refused[o.kind]++
		}
		c.copied[o.kind] += o.extra()
	}
}

func (c *tally) invocations(all []*invocation) {
	if c.outcomes == nil {
		c.outcomes = make(map[string]int)
	}
	for _, i := range all {
		c.outcomes[string(i.outcome)]++
		if i.ran {
			c.runs++
		}
	}
}

func (c *tally) String() string {
	var b strings.Builder
	for k := range kinds {
		fmt.Fprintf(&b, "%v: %d held, %d refused, %d unanswered, %d extra copies\n", k, c.held[k], c.refused[k], c.unanswered[k], c.copied[k])
	}
	fmt.Fprintf(&b, "runs of handlers: %d", c.runs)
	for _, outcome := range slices.Sorted(maps.Keys(c.outcomes)) {
		fmt.Fprintf(&b, "; %s %d", outcome, c.outcomes[outcome])
	}
	return b.String()
}
