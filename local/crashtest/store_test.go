package crashtest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
)

// A process that does not crash has a store like any other.
func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness {
		b := newBubble(nil, Trial{})
		return storetest.Harness{
			Store: &store{&process{bubble: b}},
			Plant: func(t *testing.T, r driver.Record) {
				if err := b.records.Put(r); err != nil {
					t.Fatal(err)
				}
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
