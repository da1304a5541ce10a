// Package idempotent makes functions safe to call twice. [Wrap] protects a
// Lambda handler and [Do] any function: of all calls with one key, one runs the
// work, and every call receives its result. Both belong to an [Executor], which
// names the operation and its policies.
//
// Each key has one record in a [driver.Store]. A call claims the record with a
// random token, its owner, and a lease, the time until which the owner may run.
//
//	          claim                     complete
//	(absent) ───────► IN PROGRESS ──────────────────► COMPLETED(result) ─┐
//	    ▲               │  ▲   │          fail                           ├─ retention ends ─► (absent)
//	    └── release ────┘  │   └────────────────────► FAILED(error) ─────┘
//	                       └─ take over, when the lease has lapsed (attempt + 1)
//
// A result completes the record. An error wrapped with [Permanent] fails it; an
// error without it, and a panic, release it for a retry. If the owner crashes, its
// lease lapses and the next call takes the record over. An owner that was only
// frozen can no longer write, because the record carries a newer token.
//
// A process can die between an effect and its record, and the next attempt then
// repeats the effect. Three ways out: give the service a [DownstreamKey], commit
// the effect in the record's transaction, or set Config.MaxAttempts to 1.
package idempotent
