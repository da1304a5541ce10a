// Package durable is a stand-in for Lambda's durable executions, for the tests of
// package durablefunc. A [Service] invokes a function again and again, and [Wrap]
// replays a handler, as the SDK's function of that name does. Both speak the JSON of
// the service. They were written from the documentation and the sources of the SDK,
// and never compared with the service itself.
//
// Like the SDK, Wrap runs the handler on a goroutine of its own, ends a
// suspended invocation with PENDING whatever the handler makes of the
// suspension's error, and repeats a step whose success is not recorded. Only
// the newest checkpoint token of an execution is accepted.
//
// The service can pause an execution, with the clock of its timeout, and then returns no token
// for a checkpoint. It repeats an invocation that fails until the execution times out, and ends
// an execution after a response whose status does not fit.
package durable
