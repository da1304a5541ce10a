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

import (
	"context"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// A World contains the servers and the event of one run. It shares nothing with
// the worlds of other runs.
type World struct {
	// Servers are the servers that the function calls. A call to any other
	// server is an error.
	Servers []Server
	// Env extends the environment of the function.
	Env []string
	// Event is the payload of every delivery.
	Event []byte
	// Other is an event that must not have the answer of Event, if it is not empty.
	Other []byte
	// Final reports whether the event is not delivered again after this
	// response.
	Final func(lambdaruntime.Response) bool
	// Glance checks the state between two attempts. It may be nil.
	Glance func(context.Context) (broken, err error)
	// Check checks the state at the end of the run, and sets its Seen.
	Check func(context.Context, *Run) (broken, err error)
	// Close stops the servers of the world. It may be nil.
	Close func() error
}

// A Server is a server whose URL the function reads from an environment variable.
type Server struct{ Variable, URL, Name string }

// A Point is a moment at which a run is disturbed. The zero value means none.
type Point struct {
	Call   lambdaruntime.Call
	At     lambdaruntime.Point
	Behind string // the operation before it
	Fate   Fate
}

// A Fate is the disturbance at a [Point].
type Fate uint8

const (
	// Killed kills the process.
	Killed Fate = iota
	// Frozen stops the process until an answer of another one is final.
	Frozen
	// Lost loses the response to the call.
	Lost
	// Doubled delivers the event to several processes at once. It needs no call.
	Doubled
	// Changed delivers a changed event when an answer is final. It needs no call.
	Changed
)

// A Run is the result of one run, which was disturbed at the Point.
type Run struct {
	Point
	// Other is that of the world.
	Other []byte
	// Seen describes the effects of the run.
	Seen string
	// Broken is how the invariant is broken, or nil.
	Broken error
	// Calls are the calls up to the final response, numbered from 1.
	Calls []lambdaruntime.Call
	// Retries is the number of deliveries before the final one.
	Retries int
	// Answer is the final response.
	Answer lambdaruntime.Response
	// Err reports that the run could not be judged.
	Err error

	// disturbed is an error that neither the kill nor its lease explains.
	disturbed error
	crashed   bool
}
