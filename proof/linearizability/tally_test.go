package linearizability

import "testing"

// A check of histories in which nothing happens is worth nothing.
func TestHistoriesTryBothSidesOfEveryWrite(t *testing.T) {
	r := newRow(t, &Options{InMemory: true, Histories: 600})
	r.run(t, openMemory(t))
	for k := create; k < kinds; k++ {
		for _, end := range []string{applied, refused, unanswered, copied} {
			if r.tally.of(k, end) == 0 {
				t.Errorf("no request %q is %s", k, end)
			}
		}
	}
	for _, outcome := range []string{"conflict", "executed", "failed", "lease lost", "released", "replayed", "takeover", "timed out", "unknown"} {
		if r.tally["Do: "+outcome] == 0 {
			t.Errorf("no call of Do ends as %q", outcome)
		}
	}
	if n := r.tally["runs of handlers"]; n < r.Histories/3 {
		t.Errorf("%d runs of handlers in %d histories", n, r.Histories)
	}
}
