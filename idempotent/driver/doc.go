// Package driver is the contract between package idempotent and its stores.
// It is written for authors of stores and of wrappers around them. Users take a
// store from package dynamo or memory, and need nothing from this package.
//
// A [Store] stores one [Record] for each key. It performs conditional writes
// and decides nothing: clocks, skew, attempts and fingerprints are the caller's
// business. A new rule of the protocol therefore needs no change in any store.
// A store has three methods:
//
//   - Create writes a record where there is none, or an expired one.
//   - Change applies a [Change] to a record if its [Fence] holds. It never
//     creates a record.
//   - Get reads a record with strong consistency.
//
// A failed condition is a result and not an error: ok is false, and the store
// returns the record as stored, read in the same round trip.
//
// After an error, the outcome of the write is unknown, and the caller may repeat
// the write. Only [*Rejected] and [ErrNotWritten] report that nothing was
// written. A delayed copy of a request may arrive at any time, even after later
// writes. The fence makes that harmless, so a store must never skip it.
//
// A store that can commit other writes together with a record is
// [Transactional]. Its users reach the [Attachment] of their call through
// [Attach].
//
// Package storetest contains the conformance suite that every store must pass.
package driver
