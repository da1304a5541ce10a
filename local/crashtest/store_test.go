package crashtest

import (
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/storetest"
)

// A process that does not crash has a store like any other.
func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness {
		b := newBubble(plan{}, Trial{})
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
