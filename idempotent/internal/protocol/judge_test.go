package protocol

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestFinishingOfAMetRecord(t *testing.T) {
	const me, other = "me", "other"
	lease := time.UnixMilli(1_800_000_000_000)
	for _, test := range []struct {
		name string
		met  driver.Record
		want Ruling
	}{
		{"gone", driver.Record{}, Recreate},
		{"ours", driver.Record{Status: driver.InProgress, Owner: me, Lease: lease}, Again},
		{"completed by another", driver.Record{Status: driver.Completed, Owner: other}, TakeTheirs},
		{"failed by another", driver.Record{Status: driver.Failed, Owner: other}, TakeTheirs},
		{"completed with our token", driver.Record{Status: driver.Completed, Owner: me}, TakeTheirs},
		{"released by a successor", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded}, Adopt},
		{"released with our steps", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=1")}, Adopt},
		{"released without our steps", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf()}, Adopt},
		{"released with a step that we do not know", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=1", "b", "")}, Yield},
		{"released with our step done again", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=2")}, Yield},
		{"released while it is undone", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Steps: stepsOf("a", "=1", ":failure", "=1")}, Yield},
		{"another's", driver.Record{Status: driver.InProgress, Owner: other, Lease: lease}, Yield},
		{"another library's, with a lease", driver.Record{Status: driver.InProgress, Lease: lease}, Yield},
		{"another library's, without", driver.Record{Status: driver.InProgress}, Yield},
		{"a status of another version", driver.Record{Status: "PAUSED", Owner: me}, Yield},
		{"completed for another payload", driver.Record{Status: driver.Completed, Fingerprint: "g"}, Yield},
		{"released, another payload", driver.Record{Status: driver.InProgress, Lease: driver.LeaseEnded, Fingerprint: "g"}, Yield},
		{"completed long ago", driver.Record{Status: driver.Completed, Expires: lease.Add(-time.Hour), Fingerprint: "g"}, Recreate},
		{"lapsed long ago", driver.Record{Status: driver.InProgress, Owner: other, Lease: lease.Add(-2 * time.Hour), Expires: lease.Add(-time.Hour)}, Recreate},
		{"ours, whatever its age", driver.Record{Status: driver.InProgress, Owner: me, Lease: lease.Add(-2 * time.Hour), Expires: lease.Add(-time.Hour)}, Again},
	} {
		ours := driver.Record{Owner: me, Fingerprint: "f", Steps: stepsOf("a", "=1", ":failure", "=1")}
		check.Equal(t, Finishing.Judge(&Reply{Met: test.met}, &ours, Progress{Cutoff: lease}, false), test.want, test.name)
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
