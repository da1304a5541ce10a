// Package linearizability checks that a [driver.Store], and idempotent.Do with
// that store, behave under concurrency as if every operation took effect at one
// instant between its call and its return. It uses porcupine as the judge.
//
//	func TestStore(t *testing.T) {
//		linearizability.Check(t, openStore, nil)
//	}
//
// # A history
//
// A history belongs to one record, which makes it decidable: a
// few concurrent callers, some fifty operations, times in the order in which
// calls were made and answered. Callers are frozen between two requests, and go
// on after their record was taken over. The network drops requests,
// drops answers, delays requests and doubles them. It keeps some until long after
// their lease has lapsed and their sender has gone.
//
// What is not known is not assumed:
//
//   - A request without an answer may be applied at any time after its call, or
//     never. Its operation returns at +∞.
//   - Each extra copy that leaves for the server is an operation of its own that
//     returns at +∞. Copies come from the network and from the retries of the
//     server's client. [Wire] counts both where the store is DynamoDB.
//
// A history that porcupine does not decide in time fails the test, as one that
// is not linearizable does. The failure prints the seed and the path of
// porcupine's visualization.
//
// # The model of the store
//
// The state is the whole record, or its absence. The model is the contract in
// package driver, and has no code in common with a store:
//
//   - Create writes if there is no record, or if the retention of the record and
//     the lease of one in progress ended before the cutoff.
//   - A change needs a record in progress with the owner of its fence. A new
//     owner also needs the attempt and the lease of the fence. An extension needs
//     an earlier lease. A deletion needs a record without steps.
//   - ok is true if and only if the condition holds at that instant. The record
//     that a refused write returns is the one stored at that instant.
//
// [Options].ReadsAfterRefusal weakens the last rule for stores that read the
// record after a refusal.
//
// # The model of Do
//
// The state is who may run, until when at least, the number of its attempt, and
// the answer of the key. A call of Do is up to two operations: one that ends when
// its handler starts, and one that begins when its handler returns.
//
//   - A handler starts only if the key has no answer, and only if no claim may run,
//     or if the lease of the one that may has lapsed. Its attempt is the next one.
//   - A result is reported as recorded only if its claim may still run, or if
//     no claim may. It then is the answer of the key, for good. There is one answer.
//   - A result or stored error that is returned without running, or in place of
//     the caller's own, is the answer of the key at that instant.
//   - "In progress" and "lease lost" are returned only if a different claim may run.
//   - After an error of the handler, the caller's own claim may not run any more.
//   - After [idempotent.StoreError] and an unknown outcome, anything that the call
//     has sent may be applied, at any time or never.
//
// Half of the histories have Config.ProviderMemory and RefuseLate: a release without
// [idempotent.Retryable] then keeps the record.
//
// Half of them have Config.Resume. Their calls are those of a wrapped handler, because Do has
// no request to store, and a resumer of package handlers is one more process. What it runs is
// an attempt like any other, whose result no caller receives, and never the first one. If
// the resumer reports that the record is finished, there is an answer. It is told the record
// and does not search: a search may be behind, and is no operation on one record.
//
// A last call, long after the rest and without faults, must return an answer.
// The requests that the core makes for a history of Do are a history of the store
// as well, and are checked as one.
//
// # What the check notices
//
// The tests take single conditions out of a store: the owner of a completion, of
// an extension, of a step and of a release, the lease of a takeover, and more.
// Each is noticed within one run, and so is a resumer that takes over a live lease. Do
// does not show all of them: its heartbeat does not depend on the fence of extensions,
// because the completion has one.
package linearizability
