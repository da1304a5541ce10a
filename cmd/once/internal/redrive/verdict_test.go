package redrive

import (
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/form"
)

// A paused execution goes on, a record of Powertools may have no lease, and no limit of
// attempts keeps a saga from being undone.
func TestVerdictOfARecordInProgress(t *testing.T) {
	lapsed, later := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, c := range []struct {
		want   string
		record driver.Record
	}{
		{waiting, driver.Record{Owner: "execution-1", Attempt: 1, Lease: lapsed, Expires: later}},
		{waiting, driver.Record{Expires: later}},
		{willRun, driver.Record{Owner: "a", Attempt: 1, Lease: lapsed, Steps: map[string][]byte{form.FailureStep: []byte("={}")}}},
	} {
		c.record.Status = driver.InProgress
		r := record.New(driver.Entry{Record: c.record})
		verdict, why := judge(r, r.StateAt(time.Now()), "")
		check.Equal(t, verdict, c.want, why)
	}
}
