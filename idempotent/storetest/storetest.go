// Package storetest holds the conformance suite of [driver.Store].
//
// A store, or a decorator of one, runs it in a test of its own:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness {
//			m := memory.New(0)
//			return storetest.Harness{
//				Store: m,
//				Plant: func(t *testing.T, r driver.Record) {
//					if err := m.Put(r); err != nil {
//						t.Fatal(err)
//					}
//				},
//				Depth: 5,
//			}
//		})
//	}
//
// All times of the suite lie in the year 2100. A server that deletes expired
// records by its own clock therefore leaves them where they are, and what the
// suite sees of expiry is the work of the store's conditions.
package storetest

import (
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
)

// Harness is a store under test and what the suite needs around it.
type Harness struct {
	// Store under test. No other test may use its records meanwhile.
	Store driver.Store

	// Plant stores a record exactly as it is given, whatever is there,
	// without the store's conditions: fields with their zero value are
	// absent from what is stored, nil Steps too, while empty Steps are
	// stored as an empty set. With Status Absent it removes the record. The
	// suite plants what other libraries write, and so neither Payload nor
	// Unavailable.
	// Required.
	Plant func(t *testing.T, r driver.Record)

	// Attach makes an attachment for Store, which the suite then seals.
	// Refused, a condition of its own does not hold. committed counts how
	// often its writes were made. Required with a Store that is
	// [driver.Transactional].
	Attach func(t *testing.T, refused bool) (with driver.Attachment, committed func() int)

	// Decorates is the store that Store passes its calls on to, if it is a
	// decorator. What that is able to do, Store has to be able to do too.
	Decorates driver.Store

	// Depth of the exhaustive search of interleavings. It makes some five
	// million calls at depth 5, so that only a store in memory can afford
	// it. Default 0: seeded schedules alone.
	Depth int

	// Schedules is the number of seeded random interleavings, of 12 moves
	// each. Default 200.
	Schedules int

	// Seed of the random interleavings. Default 1. A failure names it.
	Seed uint64
}

// Run checks that stores keep the contract of [driver.Store]. It asks
// newStore for a new, empty store for each group of tests.
func Run(t *testing.T, newStore func(t *testing.T) Harness) {
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			h := newStore(t)
			if h.Store == nil || h.Plant == nil {
				t.Fatal("storetest: a Harness needs Store and Plant")
			}
			if h.Schedules == 0 {
				h.Schedules = 200
			}
			if h.Seed == 0 {
				h.Seed = 1
			}
			group.run(t, h)
		})
	}
}

var groups = []struct {
	name string
	run  func(t *testing.T, h Harness)
}{
	{"Create", testCreate},
	{"CreateOver", testCreateOver},
	{"Recreate", testRecreate},
	{"Get", testGet},
	{"TakeOver", testTakeOver},
	{"Extend", testExtend},
	{"Step", testStep},
	{"Finish", testFinish},
	{"Adopt", testAdopt},
	{"Delete", testDelete},
	{"Keep", testKeep},
	{"Fence", testFence},
	{"Replay", testReplay},
	{"Foreign", testForeign},
	{"Clock", testClock},
	{"Bytes", testBytes},
	{"Oversize", testOversize},
	{"Nonsense", testNonsense},
	{"Abilities", testAbilities},
	{"Transact", testTransact},
	{"Context", testContext},
	{"Race", testRace},
	{"Random", testRandom},
	{"Exhaustive", testExhaustive},
}
