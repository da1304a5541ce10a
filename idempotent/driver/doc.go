// Package driver is the contract between package idempotent and its stores, stores of
// large results and sealers. It is written for their authors, and for those of wrappers
// around them. Users take a store from package dynamo or memory, and need nothing from
// this package but its errors.
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
// # Answers
//
// A failed condition is a result and not an error: ok is false, and the store
// returns the record as stored, read in the same round trip. A store may return a
// conflict between two writes in the same way if the write certainly did not happen.
// It then reads the record afterwards: the fence may hold in that record, and
// Create may return the zero Record.
//
// After an error, the outcome of the write is unknown, and the caller may repeat
// the write. Four errors report that this request wrote nothing: [*Rejected],
// [ErrNotWritten], [ErrTooLarge] and [*InvalidWriteError]. A delayed copy of a
// request may arrive at any time, even after later writes. The fence makes that
// harmless, so a store must never skip it.
//
// # Duties of a store
//
//   - It returns when the context ends. A context that is done before the write
//     is sent leads to an error, never to ok false.
//   - It returns the bytes of steps as they were written: an attempt compares
//     them with its own. Data may come back in a different spelling of the
//     same JSON value.
//   - It copies its arguments. Callers do not modify its results.
//   - An attachment comes only with the Create of a finished record, or with a
//     Change that finishes one.
//
// A store that can commit a handler's writes together with a record is
// [Transactional]. Its users reach the [Attachment] of their call through
// [Attach].
//
// Package storetest contains the conformance suite that every store must pass.
package driver
