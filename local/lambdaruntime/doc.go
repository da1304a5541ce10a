// Package lambdaruntime runs compiled Lambda functions as AWS does: a child
// process for each execution environment, fed over the Lambda Runtime API
// (2018-06-01), killed when it is out of time and frozen between invocations.
// The program is the one that would be deployed, built for this machine; it is not told that it runs
// anywhere else.
//
//	rt := lambdaruntime.StartTest(t, lambdaruntime.Function{
//		Binary: lambdaruntime.BuildTest(t, ".", "./testdata/payments"),
//	})
//	res, err := rt.Invoke(ctx, []byte(`{"amount": 12}`))
//
// # What is like on AWS
//
// An environment handles one invocation at a time and is started when one is
// needed. An invocation ends when the function has answered and asked for the
// next one. Between invocations the process is stopped, so that what it left
// running in the background does not go on, and goes on in the middle of the
// next. At its timeout the process is killed with all that it started; so the
// next invocation starts a new one. An error that the function returns keeps
// the process, a panic does not. The function sees Lambda's environment
// variables and its own, and nothing of the caller's. A caller that goes away
// stops no invocation. Payloads and answers end at 6 MB.
//
// # What is not
//
// Memory and CPU are not limited, a process that waits is never retired, and
// there are no retries, no extensions and no response streaming: a streamed
// answer is delivered when it is complete.
//
// For tests of what happens to an owner that was believed dead, an invocation
// can be held in the middle: see [Environment.Freeze]. AWS does not stop its
// clock for that, this package does; otherwise nobody could see the zombie
// wake up.
//
// A [Wire] between the function and its servers counts every network call of
// the function, and can kill its process before or after any of them.
//
// A function's processes end with the process that started the runtime, even
// if that one is killed.
package lambdaruntime
