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
	// Final reports whether the event is not delivered again after this
	// response.
	Final func(lambdaruntime.Response) bool
	// Expected reports whether a response that is not final is one that the
	// crash explains. Any other disturbs the run.
	Expected func(lambdaruntime.Response) bool
	// Glance checks the state between two attempts. It may be nil.
	Glance func(context.Context) (broken, err error)
	// Check checks the state at the end of the run.
	Check func(context.Context) (broken, err error)
	// Same compares the final response with that of a later duplicate.
	Same func(first, later lambdaruntime.Response) (broken error)
	// Close stops the servers of the world. It may be nil.
	Close func() error
}

// A Server is a server whose URL the function reads from an environment variable.
type Server struct{ Name, Variable, URL string }

// A Point is a moment at which a run is killed. The zero value means none.
type Point struct {
	Call   lambdaruntime.Call
	At     lambdaruntime.Point
	Behind string // the operation before it
}

// Points returns the points of calls, in their order. With afterOnly it omits the
// kills before a call.
func Points(calls []lambdaruntime.Call, afterOnly bool) (all []Point) {
	behind := ""
	for _, call := range calls {
		if !afterOnly {
			all = append(all, Point{call, lambdaruntime.Before, behind})
		}
		all = append(all, Point{call, lambdaruntime.After, behind})
		behind = call.Operation
	}
	return all
}
