package lambdaruntime

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/lambda-once/once/internal/supervise"
	"github.com/lambda-once/once/internal/wire"
)

// A Wire is the network between a function and its servers, for tests of crashes. It
// counts the calls of the function, and can kill its process at any of them:
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
	number  int // of the call that plan carries
	plan    wire.Carry
	struck  Call
	proxies map[*wire.Proxy]string // the names of their servers
	errs    []error
}

// RuntimeAPI is the Server of calls to the Lambda Runtime API.
const RuntimeAPI = "lambda"

// A Call is one request of a function to a server. To PostgreSQL it is a round trip, and to
// Redis a command.
type Call struct {
	// Number counts the calls on a wire from 1, in the order of their arrival,
	// from all processes.
	Number int
	// Server is the name that was passed to [Wire.To], or [RuntimeAPI].
	Server string
	// Operation is the operation of an AWS SDK, such as PutItem. For the Runtime
	// API it is the end of the path: next, response or error. For PostgreSQL it is
	// the commands that are sent together, such as "begin" or "update, commit". For
	// Redis it is the command. Otherwise it is the method and the path.
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

// KillAt plans to kill the process that makes the call with that number, once, by
// SIGKILL. It replaces an earlier plan.
func (w *Wire) KillAt(number int, p Point) {
	w.set(number, func(r *wire.Request) (_ *wire.Response, err error) {
		if p == After { // and before the process receives the first byte of the response
			_, err = r.Send()
		}
		w.kill(number)
		return nil, errors.Join(wire.ErrCut, err)
	})
}

// CarryAt plans that carry decides on the fate of the call with that number, once: it may
// hold the call, or lose the response. It replaces an earlier plan.
func (w *Wire) CarryAt(number int, carry wire.Carry) {
	w.set(number, func(r *wire.Request) (*wire.Response, error) {
		w.strikes(number)
		return carry(r)
	})
}

func (w *Wire) set(number int, plan wire.Carry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number, w.plan = number, plan
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

func (w *Wire) strikes(number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.struck = w.calls[number-1]
}

// arrives counts a call, and returns its plan, or nil.
func (w *Wire) arrives(server, operation string) (plan wire.Carry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, Call{Number: len(w.calls) + 1, Server: server, Operation: operation})
	if w.number == len(w.calls) {
		plan, w.plan = w.plan, nil
	}
	return plan
}

// kill returns when the process has exited, because it must not notice that its
// connection was closed.
func (w *Wire) kill(number int) {
	w.starting.Lock()
	process := w.process
	w.starting.Unlock()
	select {
	case <-process.Done():
		return // by other means
	default:
	}
	w.strikes(number) // before the kill: a test that notices the exit may call Struck
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
