package redrive

import (
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/form"
)

// A paused execution goes on, a record of Powertools may have no lease, and the limits of a
// function decide whether it undoes a saga.
func TestVerdictOfARecordInProgress(t *testing.T) {
	saga := map[string][]byte{form.FailureStep: []byte("={}")}
	lapsed, later := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, c := range []struct {
		want   string
		record driver.Record
	}{
		{waiting, driver.Record{Owner: "execution-1", Attempt: 1, Lease: lapsed, Expires: later}},
		{waiting, driver.Record{Expires: later}},
		{willRun, driver.Record{Owner: "a", Attempt: 1, Lease: lapsed, Expires: later, Steps: saga}},
		{waiting, driver.Record{Owner: "a", Attempt: 1, Lease: lapsed, Steps: saga}},
	} {
		c.record.Status = driver.InProgress
		r := record.New(driver.Entry{Record: c.record})
		verdict, why := judge(r, r.StateAt(time.Now()), "")
		check.Equal(t, verdict, c.want, why)
	}
}
