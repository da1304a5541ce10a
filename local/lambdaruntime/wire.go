package lambdaruntime

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/lambda-once/once/local/supervise"
	"github.com/lambda-once/once/local/wire"
)

// A Wire is the network between a function and its servers, for tests of crashes. It
// counts the calls of the function. At any of them it can kill its process, hold the call,
// or lose the response:
//
//	wire := lambdaruntime.NewWire()
//	defer wire.Close()
//	endpoint, err := wire.To("dynamodb", os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
//	…
//	wire.KillAt(3, lambdaruntime.Before)
//	rt, err := lambdaruntime.Start(ctx, lambdaruntime.Function{
//		Binary: binary, Wire: wire, Env: []string{"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint},
//	})
//
// It counts calls to the servers of [Wire.To] and to the Lambda Runtime API. It
// refuses all other calls that go through the HTTP proxy of the environment, and Close
// reports them. It does not see calls to other servers on this machine. The methods of
// a Wire are safe for concurrent use.
type Wire struct {
	// starting is locked while a process starts, which may make calls before the
	// wire knows it.
	starting sync.Mutex
	process  *supervise.Process

	mu      sync.Mutex
	calls   []Call
	plan    plan
	struck  Call
	proxies map[*wire.Proxy]string // the names of their servers
	errs    []error
}

// RuntimeAPI is the Server of calls to the Lambda Runtime API.
const RuntimeAPI = "lambda"

// A Call is one request of a function to a server, and of PostgreSQL one round trip.
type Call struct {
	// Number counts the calls on a wire from 1, in the order of their arrival,
	// from all processes.
	Number int
	// Server is the name that was passed to [Wire.To], or [RuntimeAPI].
	Server string
	// Operation is the operation of an AWS SDK, such as PutItem. For the Runtime
	// API it is the end of the path: next, response or error. For PostgreSQL it is
	// the commands that are sent together, such as "begin" or "update, commit".
	// Otherwise it is the method and the path.
	Operation string
}

// A Point is a moment of a call.
type Point uint8

const (
	// Before is the moment before the server receives the call.
	Before Point = iota + 1
	// After is the moment between the server's response and its delivery.
	After
)

func (p Point) String() string {
	switch p {
	case Before:
		return "before"
	case After:
		return "after"
	}
	return "never"
}

// NewWire returns a wire without servers. Close it after the runtime.
func NewWire() *Wire { return &Wire{proxies: map[*wire.Proxy]string{}} }

// A plan is what happens at a call, once. If meet returns an error, the function does not
// receive the response. done, which may be nil, is closed when the call is over.
type plan struct {
	number int // of the call, or 0
	point  Point
	meet   func(Call) error
	done   chan struct{}
}

func (w *Wire) set(p plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan = p
}

// KillAt plans to kill the process that makes the call with that number, once, by
// SIGKILL. It replaces an earlier plan.
func (w *Wire) KillAt(number int, p Point) {
	w.set(plan{number: number, point: p, meet: func(call Call) error { w.kill(call); return wire.ErrCut }})
}

// LoseAt plans to lose the response to the call with that number, once: the server has
// received the call, and the function's connection is cut. It replaces an earlier plan.
func (w *Wire) LoseAt(number int) {
	w.set(plan{number: number, point: After, meet: func(call Call) error { w.strikes(call); return wire.ErrCut }})
}

// HoldAt plans to hold the call with that number, once, until release is called: a test
// freezes the process when held is closed, and thaws it afterwards. A call that is held
// [Before] reaches its server late. It replaces an earlier plan. release returns when the
// server has responded, and must be called before Close.
func (w *Wire) HoldAt(number int, p Point) (held <-chan struct{}, release func()) {
	reached, released, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.set(plan{number: number, point: p, done: done, meet: func(call Call) error {
		w.strikes(call)
		close(reached)
		<-released
		return nil
	}})
	return reached, sync.OnceFunc(func() {
		close(released)
		select {
		case <-reached:
			<-done
		default:
		}
	})
}

// Calls returns all calls so far.
func (w *Wire) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// Struck returns the call that a plan has met.
func (w *Wire) Struck() (_ Call, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.struck, w.struck.Number > 0
}

// start starts a process, the only one on the wire.
func (w *Wire) start(c supervise.Command) (*supervise.Process, error) {
	w.starting.Lock()
	defer w.starting.Unlock()
	p, err := supervise.Start(c)
	if err == nil {
		w.process = p
	}
	return p, err
}

func (w *Wire) strikes(call Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.struck = call
}

func (w *Wire) arrives(server, operation string) (call Call, met plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	call = Call{Number: len(w.calls) + 1, Server: server, Operation: operation}
	w.calls = append(w.calls, call)
	if w.plan.number == call.Number {
		met, w.plan = w.plan, plan{}
	}
	return call, met
}

// kill returns when the process has exited, because it must not notice that its
// connection was closed.
func (w *Wire) kill(call Call) {
	w.starting.Lock()
	process := w.process
	w.starting.Unlock()
	select {
	case <-process.Done():
		return // by other means
	default:
	}
	w.strikes(call) // before the kill: a test that notices the exit may call Struck
	if err := process.Kill(); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.errs = append(w.errs, err)
	}
}

// Close closes the wire. It returns the errors of the wire: a server that did not
// respond, a call to an unknown server, or a process that could not be killed.
func (w *Wire) Close() error {
	w.mu.Lock()
	proxies := w.proxies
	w.proxies = map[*wire.Proxy]string{}
	w.mu.Unlock()
	var errs []error
	for proxy, server := range proxies {
		if err := proxy.Close(); err != nil {
			errs = append(errs, fmt.Errorf("lambdaruntime: %s: %w", server, err))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(append(errs, w.errs...)...)
}
