// Package kill runs compiled functions, kills them at one of their network calls,
// and repeats their event until it is answered. Package crashtest does so with a
// function of a user, and package crashmatrix with the examples.
//
// [Scene.Learn] runs a function undisturbed and records its calls. [Points] returns
// the moment before and the moment after each of them, and [Scene.Play] kills a
// process there by SIGKILL: before it sends the call, or after the server has
// answered and before the process knows. Each run has a [World] of its own.
package kill
