// Package idempotent lets a function have its effects once per key, on rails
// that deliver at least once: retries, redeliveries, double clicks and crashes
// then find the first result instead of doing the work again.
//
// [Wrap] protects a Lambda handler, [Do] any function. Both belong to an
// [Executor], which names the operation and holds its policies, over a [driver.Store]:
// package dynamo has the one for DynamoDB, [memory.Store] is for one process.
//
// # The life of a record
//
// Each key has one record in the store. A call claims it: it creates the
// record, in progress, with a random token, the owner, and a lease, the time
// until which the owner may run. Whoever else comes with the key meets the
// record and is told that the call is running, or waits for it.
//
//	          claim                      complete
//	(absent) ───────► IN PROGRESS ───────────────────► COMPLETED(result)  ─┐
//	    ▲               │  ▲   │          fail                             ├─ retention over ─► (absent)
//	    │    release    │  │   └───────────────────► FAILED(error)        ─┘
//	    └───────────────┘  └─ take over, once the lease has lapsed (attempt + 1)
//
// When the handler succeeds, its result completes the record, and every later
// call gets it. An error that is marked [Permanent] is stored in the same way.
// Any other error, and a panic, releases the key for a retry.
//
// If the owner dies, nobody writes, and the lease lapses. The next call then
// takes the record over, with a token of its own and the attempt one higher.
// An owner that was not dead but frozen, and wakes up later, finds that each of
// its writes requires a token that is no longer there: it can neither complete
// nor release what is now another's. Its caller gets the other's result, or a
// [*LeaseLostError].
//
// # Effects
//
// A handler that has several effects has each in a [Step]: a later attempt
// goes on behind the last that is finished. A [SagaStep] can be undone, and is,
// if the call fails for good. What a store with transactions lets a handler
// attach (dynamo.Transaction does) is committed together with the completion,
// or not at all; a handler that has no other effects needs no claim then
// (Config.Optimistic). [ChainKey] gives a message to another function a key
// that it can be known by there.
//
// # Results
//
// A result is encoded by Config.Codec, encrypted by Config.Sealer, and put into
// Config.Payloads if it is large; the record has the rest, or the reference.
// All of that comes after the work. So what fails there is tried again while
// time lasts, and then loses the result but not the fact that the work was
// done: repetitions get a [*ResultUnavailableError]. They get it too, for as
// long as it lasts, when a result cannot be fetched or decrypted.
//
// # What it does not do
//
// Between the effect and the record of it there is a moment in which a process
// can die, stand still for longer than its lease, or not reach the store for as
// long. The next attempt cannot know, and repeats the effect. There are three
// ways out: give the service that performs it a [DownstreamKey], by which it
// recognises the repetition; have the effect and the record in one transaction;
// or set Config.MaxAttempts to 1, so that nothing runs again before a person
// has looked.
//
// The clocks of all callers have to agree within Config.ClockSkew, and all
// writers of a record have to be fenced, as Once is. Writers of other libraries
// can share a table, but their writes check no owner.
package idempotent
