// Package protocol contains the rules of the protocol as pure functions: on the record
// that a claim met, on the answer to a write, and on the end of a run. It reads no
// clock and calls no store. Package idempotent carries out its rulings.
//
//   - [Claimant.Decide] rules on the record that a claim met.
//   - A [Policy] rules on the answer to a write. The policies are a
//     table: twelve kinds of writes, and the standing of the record that each may
//     meet. A test pins every cell.
//   - [Mode] names the variant of a call, and [Mode.Settle] rules on the end of a
//     run. A test states promises about every mode and every run.
//   - [Times] computes the ends of leases, handlers and retentions.
package protocol
