// Package kill runs compiled functions, disturbs them at one of their network calls,
// and repeats their event until it is answered. Package crashtest does so with a
// function of a user, and package crashmatrix with the examples.
//
// [Scene.Learn] runs a function undisturbed and records its calls. [Scene.PlayAll] plays
// points of two kinds. [Kills] kill a process by SIGKILL at each call: before it sends the
// call, and after the server has answered and before the process knows. [Faults] freeze it
// there, lose the response, or deliver the event otherwise. Each run has a [World] of its
// own.
package kill
