// Package storetest is the conformance suite of [driver.Store]. Package driver
// states the contract; this page is the guide for authors of stores.
//
// Run the suite in a test of the store, and of every decorator of one:
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
// # Where to begin
//
// Write the methods in the order of the groups, and run one group at a time with
// -run 'TestStore/Create$':
//
//   - Create, CreateExpired, Recreate and Get need no Change.
//   - TakeOver, Extend, Step, Finish, Adopt, Delete and Keep check one kind of
//     [driver.Change] each. Fence makes each of them with a wrong fence.
//   - Invalid makes writes that the protocol never makes. Call
//     [driver.Record.Validate] and [driver.Change.Validate] before a write.
//   - Replay, Context, Clock, Bytes, Oversize and Foreign cover lost answers,
//     cancelled contexts, clocks that differ, odd bytes, large results, and
//     records of foreign libraries.
//   - Race calls the store concurrently. Random and Exhaustive interleave two
//     callers, lose and delay their requests, and compare the store with a model.
//   - Transact applies to a [driver.Transactional]. Abilities checks that a
//     decorator does not hide the transactions of its store, or that it is
//     [idempotent.Observed].
//   - Operate applies to a [driver.Operable], and Sweep to a [driver.Sweeper].
//
// A case is a list of writes, and a failure names the write by its number. A failure of
// Random or Exhaustive lists the moves that led to it.
//
// # Time
//
// All times of the suite are in the year 2100. A server that deletes expired
// records by its own clock therefore deletes none of them, and only the store's
// conditions decide about expiry.
package storetest

import (
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
)

// A Harness is a store under test, with the functions that the suite needs.
type Harness struct {
	// Store is the store under test. Nothing else may use its records
	// during the test. Required.
	Store driver.Store

	// Plant stores r without a condition, and replaces any record with its
	// ID. Fields with their zero value are absent from what is stored. Nil
	// Steps are absent, and empty Steps are stored as an empty set. With
	// Status Absent, Plant removes the record. The suite never plants a
	// record with Payload or Unavailable. Required.
	Plant func(t *testing.T, r driver.Record)

	// Attach returns an attachment for Store, which the suite then freezes.
	// If refused is true, a condition of the attachment does not hold.
	// committed returns how often its writes were committed. Required if
	// Store is [driver.Transactional].
	Attach func(t *testing.T, refused bool) (with driver.Attachment, committed func() int)

	// Decorates is the store that Store wraps, if it is a decorator. Store
	// must then be Transactional if Decorates is, and [idempotent.Observed] if
	// Decorates is.
	Decorates driver.Store

	// Depth is the depth of the exhaustive search of interleavings. Depth 5
	// makes some five million calls, which only a store in memory can
	// afford. Default 0: random schedules only.
	Depth int

	// Schedules is the number of random schedules, of 12 moves each.
	// Default 200.
	Schedules int
}

// Run checks that a store follows the contract of [driver.Store]. It calls
// newStore once for each group of tests; each call returns a new, empty store.
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
			group.run(t, h)
		})
	}
}

var groups = []struct {
	name string
	run  func(t *testing.T, h Harness)
}{
	{"Create", testCreate},
	{"CreateExpired", testCreateExpired},
	{"Recreate", testRecreate},
	{"Get", testGet},
	{"TakeOver", testTakeOver},
	{"Extend", testExtend},
	{"Step", testStep},
	{"Finish", testFinish},
	{"Adopt", testAdopt},
	{"Delete", testReleaseDelete},
	{"Keep", testReleaseKeep},
	{"Fence", testFence},
	{"Replay", testReplay},
	{"Foreign", testForeign},
	{"Clock", testClock},
	{"Bytes", testBytes},
	{"Oversize", testOversize},
	{"Invalid", testInvalid},
	{"Abilities", testAbilities},
	{"Transact", testTransact},
	{"Operate", testOperate},
	{"Sweep", testSweep},
	{"Context", testContext},
	{"Race", testRace},
	{"Random", testRandom},
	{"Exhaustive", testExhaustive},
}
