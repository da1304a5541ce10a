// Package crashmatrix kills compiled programs at every network call they make,
// and counts the effects that remain when the caller has its answer. The command
// crashmatrix prints the results:
//
//	go -C proof run ./cmd/crashmatrix
//
// Each mode runs once undisturbed, to record its calls to DynamoDB, to other
// servers, and to the Lambda Runtime API. It then runs twice for every call, each
// time in a world of its own. The process is killed (SIGKILL) before it sends the
// call, or after the server has answered and before the process knows. The caller
// repeats its request in new processes until it receives an answer, and then once
// more: the second answer must be the same.
//
// The program shop has the options that may keep a call from running, and a resumer. There
// the caller goes away with its process, and comes back when the resumer is done, or the
// resumer is killed at every call.
//
// A mode is an entry in modes, and a world that counts its effects.
package crashmatrix
