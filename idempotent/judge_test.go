package idempotent

import (
	"testing"
	"time"
)

func TestFinishingOfAMetRecord(t *testing.T) {
	const me, other = "me", "other"
	lease := time.UnixMilli(1_800_000_000_000)
	for _, test := range []struct {
		name string
		met  Record
		want ruling
	}{
		{"gone", Record{}, recreate},
		{"ours", Record{Status: InProgress, Owner: me, Lease: lease}, again},
		{"completed by another", Record{Status: Completed, Owner: other}, takeTheirs},
		{"failed by another", Record{Status: Failed, Owner: other}, takeTheirs},
		{"completed with our token", Record{Status: Completed, Owner: me}, takeTheirs},
		{"released by a successor", Record{Status: InProgress, Lease: LeaseEnded}, adopt},
		{"released with our steps", Record{Status: InProgress, Lease: LeaseEnded, Steps: stepsOf("a", "=1")}, adopt},
		{"released without our steps", Record{Status: InProgress, Lease: LeaseEnded, Steps: stepsOf()}, adopt},
		{"released with a step that we do not know", Record{Status: InProgress, Lease: LeaseEnded, Steps: stepsOf("a", "=1", "b", "")}, yield},
		{"released with our step done again", Record{Status: InProgress, Lease: LeaseEnded, Steps: stepsOf("a", "=2")}, yield},
		{"released while it is undone", Record{Status: InProgress, Lease: LeaseEnded, Steps: stepsOf("a", "=1", ":failure", "=1")}, yield},
		{"another's", Record{Status: InProgress, Owner: other, Lease: lease}, yield},
		{"another library's, with a lease", Record{Status: InProgress, Lease: lease}, yield},
		{"another library's, without", Record{Status: InProgress}, yield},
		{"a status of another version", Record{Status: "PAUSED", Owner: me}, yield},
		{"completed for another payload", Record{Status: Completed, Fingerprint: "g"}, yield},
		{"released, another payload", Record{Status: InProgress, Lease: LeaseEnded, Fingerprint: "g"}, yield},
		{"completed long ago", Record{Status: Completed, Expires: lease.Add(-time.Hour), Fingerprint: "g"}, recreate},
		{"lapsed long ago", Record{Status: InProgress, Owner: other, Lease: lease.Add(-2 * time.Hour), Expires: lease.Add(-time.Hour)}, recreate},
		{"ours, whatever its age", Record{Status: InProgress, Owner: me, Lease: lease.Add(-2 * time.Hour), Expires: lease.Add(-time.Hour)}, again},
	} {
		ours := Record{Owner: me, Fingerprint: "f", Steps: stepsOf("a", "=1", ":failure", "=1")}
		if got := finishing.judge(reply{met: test.met}, ours, progress{cutoff: lease}, false); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

// stepsOf are those of a record, from names and what is stored of each.
func stepsOf(pairs ...string) map[string][]byte {
	all := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = []byte(pairs[i+1])
	}
	return all
}
