package linearizability

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tally counts the requests and calls of the histories, because a check of histories in
// which nothing happens is worth nothing.
type tally map[string]int

// The ends of a request, and its copies.
const (
	applied    = "held"
	refused    = "refused"
	unanswered = "unanswered"
	copied     = "extra copies"
)

func (c tally) of(k kind, end string) int { return c[k.String()+", "+end] }

func (c tally) requests(h *history) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.requests {
		end := refused
		switch {
		case o.unknown:
			end = unanswered
		case o.ok:
			end = applied
		}
		c[o.kind.String()+", "+end]++
		c[o.kind.String()+", "+copied] += o.extra()
	}
}

func (c tally) invocations(all []*invocation) {
	for _, i := range all {
		by := "Do: "
		if i.resumes {
			by = "Resume: "
		}
		c[by+string(i.outcome)]++
		if i.ran {
			c["runs of handlers"]++
		}
	}
}

func (c tally) String() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		lines = append(lines, fmt.Sprintf("%s: %d", name, c[name]))
	}
	return strings.Join(lines, "\n")
}
