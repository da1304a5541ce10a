package idempotent

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func TestFinishingOfAMetRecord(t *testing.T) {
	const me, other = "me", "other"
	lease := time.UnixMilli(1_800_000_000_000)
	for _, test := range []struct {
		name string
		met  driver.Record
		want ruling
	}{
		{"gone", driver.Record{}, recreate},
		{"ours", driver.Record{Status: driver.InProgress, Owner: me, Lease: lease}, again},
		{"completed by another", driver.Record{Status: driver.Completed, Owner: other}, takeTheirs},
		{"failed by another", driver.Record{Status: driver.Failed, Owner: other}, takeTheirs},
		{"completed with our token", driver.Record{Status: driver.Completed, Owner: me}, takeTheirs},
		{"released by a successor", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded}, adopt},
		{"released with our steps", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=1")}, adopt},
		{"released without our steps", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf()}, adopt},
		{"released with a step that we do not know", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=1", "b", "")}, yield},
		{"released with our step done again", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=2")}, yield},
		{"released while it is undone", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=1", ":failure", "=1")}, yield},
		{"another's", driver.Record{Status: driver.InProgress, Owner: other, Lease: lease}, yield},
		{"another library's, with a lease", driver.Record{Status: driver.InProgress, Lease: lease}, yield},
		{"another library's, without", driver.Record{Status: driver.InProgress}, yield},
		{"a status of another version", driver.Record{Status: "PAUSED", Owner: me}, yield},
		{"completed for another payload", driver.Record{Status: driver.Completed, Fingerprint: "g"}, yield},
		{"released, another payload", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Fingerprint: "g"}, yield},
		{"completed long ago", driver.Record{Status: driver.Completed, Expires: lease.Add(-time.Hour), Fingerprint: "g"}, recreate},
		{"lapsed long ago", driver.Record{Status: driver.InProgress, Owner: other, Lease: lease.Add(-2 * time.Hour), Expires: lease.Add(-time.Hour)}, recreate},
		{"ours, whatever its age", driver.Record{Status: driver.InProgress, Owner: me, Lease: lease.Add(-2 * time.Hour), Expires: lease.Add(-time.Hour)}, again},
	} {
		ours := driver.Record{Owner: me, Fingerprint: "f", Steps: stepsOf("a", "=1", ":failure", "=1")}
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
