package lambdaruntime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/lambda-once/once/local/internal/supervise"
)

// Wire is the network between a function and its servers, for tests of what a
// crash costs. It counts the calls that the function makes, and can kill its
// process at any of them:
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
// The calls are those to the servers that the wire leads to, and those to the
// Lambda Runtime API. A function that uses HTTP proxies as Go programs do is
// refused all others, and Close reports them; but what it calls on this machine
// past the wire is not seen. A Wire's methods are safe for concurrent use.
type Wire struct {
	transport *http.Transport
	// A call that is on its way is not taken back when the process that made
	// it is killed, only by Close.
	ctx     context.Context
	cancel  context.CancelFunc
	serving sync.WaitGroup // its servers

	// starting is held while a process starts, which may call before it is
	// known here.
	starting sync.Mutex
	process  *supervise.Process

	mu      sync.Mutex
	calls   []Call
	plan    strike
	struck  Call
	servers []*http.Server
	errs    []error
}

// RuntimeAPI is the Server of calls to the Lambda Runtime API.
const RuntimeAPI = "lambda"

// Call is one request of a function to a server.
type Call struct {
	// Number counts the calls on a wire from 1, in the order in which they
	// came, whichever process made them.
	Number int
	// Server is the name that [Wire.To] was given, or [RuntimeAPI].
	Server string
	// Operation is what an AWS SDK calls, such as PutItem; of the Runtime API
	// the end of the path: next, response or error; elsewhere the method and
	// the path.
	Operation string
}

// Point is a moment of a call.
type Point uint8

const (
	// Before is when the call was made and the server has nothing of it.
	Before Point = iota + 1
	// After is when the server has answered and the function does not know.
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

// strike is the kill that is planned; the zero value is none.
type strike struct {
	number int
	point  Point
}

// NewWire makes a wire that leads nowhere yet. It is closed after the runtime.
func NewWire() *Wire {
	w := &Wire{transport: &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// KillAt plans the end of the process that makes the call of that number: by
// SIGKILL, once. The last plan counts.
func (w *Wire) KillAt(number int, p Point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan = strike{number, p}
}

// Calls are all so far.
func (w *Wire) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// Struck is the call at which a process was killed.
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

// around counts the calls to a server, and strikes as planned.
func (w *Wire) around(server string, serve http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		// All of it: what a process could not send is no call.
		body, err := io.ReadAll(in.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		in.Body = io.NopCloser(bytes.NewReader(body))
		call, point := w.arrives(server, in)
		switch point {
		case Before:
			w.kill(call)
			panic(http.ErrAbortHandler)
		case After:
			// The process must not see the first byte of the answer.
			serve.ServeHTTP(nowhere{}, in)
			w.kill(call)
			panic(http.ErrAbortHandler)
		}
		serve.ServeHTTP(out, in)
	})
}

func (w *Wire) arrives(server string, in *http.Request) (Call, Point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	call := Call{Number: len(w.calls) + 1, Server: server, Operation: operation(server, in)}
	w.calls = append(w.calls, call)
	if w.plan.number != call.Number {
		return call, 0
	}
	point := w.plan.point
	w.plan = strike{}
	return call, point
}

// kill returns when the process is gone: it must not hear that its connection
// was closed.
func (w *Wire) kill(call Call) {
	w.starting.Lock()
	process := w.process
	w.starting.Unlock()
	select {
	case <-process.Done():
		return // by other means
	default:
	}
	// Before the end of the process: whoever hears of that may ask.
	w.mu.Lock()
	w.struck = call
	w.mu.Unlock()
	if err := process.Kill(); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.errs = append(w.errs, err)
	}
}

// Close ends the wire. Its error is what went wrong on it: a server that did
// not answer, a call to one that it does not lead to, a process that could not
// be killed.
func (w *Wire) Close() error {
	w.cancel()
	w.mu.Lock()
	servers := w.servers
	w.servers = nil
	w.mu.Unlock()
	var errs []error
	for _, s := range servers {
		// Not Close, which does not wait for what is being served. It ends
		// soon: ctx is over.
		errs = append(errs, s.Shutdown(context.Background()))
	}
	w.serving.Wait()
	w.transport.CloseIdleConnections()
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(append(errs, w.errs...)...)
}
