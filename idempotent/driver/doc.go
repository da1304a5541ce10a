// Package driver is the contract between package idempotent and its stores.
// It is written for authors of stores and of wrappers around them. Users get a
// store from package dynamo or memory, and need nothing of this package.
//
// A [Store] keeps one [Record] a key. It performs conditional writes and
// decides nothing: clocks, skew, attempts and fingerprints are the caller's
// business, so that a new rule of the protocol needs no change in any store.
// It has three methods:
//
//   - Create writes a record where there is none, or an expired one.
//   - Change applies a [Change] to a record if its [Fence] holds. It never
//     creates a record.
//   - Get reads a record, strongly consistent.
//
// A write whose condition fails is a result and no error: ok is false, and the
// store returns the record that it met, from the same round trip. An error
// means that the outcome of the write is unknown, with two exceptions:
// [*Rejected] and [ErrNotWritten]. The caller may send a write again after an
// error, and a copy that was delayed may arrive at any time, also after later
// writes. The fence makes that harmless, so a store must never skip it.
//
// A store that can commit other writes together with a record is
// [Transactional]. Its users reach the [Attachment] of their call through
// [Attach].
//
// Package storetest holds the conformance suite that every store must pass.
package driver
