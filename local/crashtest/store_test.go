package crashtest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
	"github.com/lambda-once/once/internal/check"
)

// A process that does not crash has a store like any other.
func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness {
		b := newBubble(nil, Trial{})
		return storetest.Harness{
			Store: &store{newProcess(b)},
			Plant: func(t *testing.T, r driver.Record) {
				check.Must(t, b.records.Put(r))
			},
			Depth: 3, Schedules: 500,
		}
	})
}

func TestRunThatHangsIsNoticed(t *testing.T) {
	noticed := make(chan struct{})
	watch(time.Millisecond, func() { close(noticed) }, func() { <-noticed })
	watch(time.Hour, func() { t.Error("a run that ended was noticed") }, func() {})
}
