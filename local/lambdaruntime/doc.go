// Package lambdaruntime runs compiled Lambda functions as AWS does. Each execution
// environment is a child process that receives events over the Lambda Runtime API
// (2018-06-01). It is killed at its timeout and frozen between invocations. The
// program is the one that would be deployed, built for this machine.
//
//	rt := lambdaruntime.StartTest(t, lambdaruntime.Function{
//		Binary: lambdaruntime.BuildTest(t, ".", "./testdata/payments"),
//	})
//	res, err := rt.Invoke(ctx, []byte(`{"amount": 12}`))
//
// # As on AWS
//
// An environment handles one invocation at a time, and is started when it is needed.
// An invocation ends when the function has responded and requested the next one.
// Between invocations the process is stopped: its background work pauses, and
// continues during the next invocation.
//
// At its timeout the process is killed with all its children, and the next invocation
// starts a new one. The process survives an error of the function, but not a panic.
// The function sees only Lambda's environment variables and its own. A caller that
// leaves does not stop the invocation. Payloads and responses have at most 6 MB.
//
// # Differences
//
// Memory and CPU are not limited, and an idle process is never retired. There are no
// retries, extensions or response streaming: a streamed response is delivered when it
// is complete.
//
// Tests of zombies can freeze an invocation in progress: see [Environment.Freeze]. Its
// timeout is then paused, unlike on AWS; otherwise no test could see the zombie wake
// up.
//
// A [Wire] between the function and its servers counts every network call of the
// function, and can kill its process before or after any of them.
//
// The processes of a function exit with the process that started the runtime, even if
// that one is killed.
package lambdaruntime
