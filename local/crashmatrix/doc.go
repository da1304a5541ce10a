// Package crashmatrix kills compiled examples at every network call they make,
// and counts the effects that are left when the caller has its answer. The
// command crashmatrix prints it all:
//
//	go run ./local/cmd/crashmatrix
//
// Each mode is run once undisturbed, to learn its calls: those to DynamoDB, to
// other servers, and to the Lambda Runtime API. Then, for every call, it is run
// twice in a world of its own: its process is killed (SIGKILL) before the call
// leaves, or when the server has answered and the process does not know. The
// caller repeats its request, in new processes, until it is answered, and then
// once more: that answer has to be the same.
//
// A mode is an entry in modes, and a world that counts its effects.
package crashmatrix
