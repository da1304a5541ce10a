package linearizability

import "testing"

// A check of histories in which nothing happens is worth nothing.
func TestHistoriesTryBothSidesOfEveryWrite(t *testing.T) {
	r := newRow(t, &Options{InMemory: true, Histories: 600})
	r.run(t, openMemory(t))
	c := &r.tally
	for k := create; k < kinds; k++ {
		if c.held[k] == 0 || c.refused[k] == 0 || c.unanswered[k] == 0 || c.copied[k] == 0 {
			t.Errorf("%v: %d held, %d refused, %d unanswered, %d extra copies", k, c.held[k], c.refused[k], c.unanswered[k], c.copied[k])
		}
	}
	for _, outcome := range []string{"conflict", "executed", "failed", "lease lost", "released", "replayed", "takeover", "timed out", "unknown"} {
		if c.outcomes[outcome] == 0 {
			t.Errorf("no call of Do ends as %q", outcome)
		}
	}
	if c.runs < r.Histories/3 {
		t.Errorf("%d runs of handlers in %d histories", c.runs, r.Histories)
	}
}
