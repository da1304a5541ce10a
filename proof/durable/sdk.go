package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// errSuspended is returned by an operation that outlasts the invocation. The SDK
// does not export its own, so handlers cannot look for it.
var errSuspended = errors.New("durable: execution suspended")

// stepRetries is how often the SDK repeats a step by default.
const stepRetries = 5

// A Context is the context of a handler, or of a branch of it. Each belongs to
// one goroutine.
type Context struct {
	context.Context
	run    *run
	prefix string
	count  int
	// suspended reports that the branch waits for an operation that outlasts this
	// invocation, even if its code ignores the error.
	suspended bool
}

// run is one invocation of a handler.
type run struct {
	ctx     context.Context // the invocation's
	service *Service
	arn     string

	checkpoints sync.Mutex // one at a time
	token       string

	mu        sync.Mutex
	known     map[string]*operation
	active    int // branches that are not suspended
	committed bool
	fired     chan struct{} // the invocation ends with PENDING
	fire      func()        // closes fired
}

// Wrap returns the function of a handler. A result of more than largest bytes
// becomes a checkpoint, and the response has an empty result.
func Wrap[I, O any](service *Service, largest int, handler func(*Context, I) (O, error)) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, text []byte) ([]byte, error) {
		var in request
		if err := json.Unmarshal(text, &in); err != nil {
			return nil, err
		}
		r := &run{ctx: ctx, service: service, arn: in.DurableExecutionArn, token: in.CheckpointToken, known: map[string]*operation{}, active: 1, fired: make(chan struct{})}
		r.fire = sync.OnceFunc(func() { close(r.fired) })
		var event I
		if err := r.load(in.InitialExecutionState.Operations, &event); err != nil {
			return nil, err
		}
		type outcome struct {
			value O
			err   error
		}
		done := make(chan outcome, 1)
		go func() {
			returned := outcome{err: errors.New("durable: the handler panicked")}
			defer func() {
				if p := recover(); p != nil {
					returned.err = fmt.Errorf("durable: the handler panicked: %v", p)
				}
				done <- returned
			}()
			value, err := handler(&Context{Context: ctx, run: r}, event)
			returned = outcome{value, err}
		}()
		select {
		case <-r.fired:
			return json.Marshal(response{Status: pending})
		case o := <-done:
			return r.respond(o.value, o.err, largest)
		}
	}
}

// load reads the operations, and the event.
func (r *run) load(operations []*operation, event any) (err error) {
	for _, o := range operations {
		r.known[o.Id] = o
		if o.Type == typeExecution && o.ExecutionDetails.InputPayload != "" {
			err = errors.Join(err, json.Unmarshal([]byte(o.ExecutionDetails.InputPayload), event))
		}
	}
	return err
}

func (r *run) respond(value any, err error, largest int) ([]byte, error) {
	r.mu.Lock()
	committed := r.committed
	r.mu.Unlock()
	var broken *checkpointError
	switch {
	case errors.As(err, &broken):
		return nil, err // the invocation fails, and the service repeats it
	case committed:
		return json.Marshal(response{Status: pending})
	case err != nil:
		return json.Marshal(response{Status: failed, Error: &errorObject{fmt.Sprintf("%T", err), err.Error()}})
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	answer := string(text)
	if len(text) > largest {
		if err := r.checkpoint(&operation{Id: "0", Type: typeExecution, Status: succeeded, ContextDetails: &result{Result: answer}}); err == errSuspended {
			return json.Marshal(response{Status: pending})
		} else if err != nil {
			return nil, err
		}
		answer = ""
	}
	return json.Marshal(response{Status: succeeded, Result: &answer})
}

// checkpointError reports that an operation could not be stored.
type checkpointError struct{ err error }

func (e *checkpointError) Error() string { return e.err.Error() }

func (r *run) checkpoint(o *operation) error {
	r.checkpoints.Lock()
	defer r.checkpoints.Unlock()
	next, err := r.service.Checkpoint(r.ctx, r.arn, r.token, o)
	if err != nil {
		return &checkpointError{err}
	}
	if r.token = next; next != "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.committed = true
	r.fire()
	return errSuspended
}

// next returns the next operation of a branch, as it is recorded, or a new one.
func (c *Context) next(kind, name string) *operation {
	c.count++
	id := fmt.Sprint(c.prefix, c.count)
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if known := c.run.known[id]; known != nil {
		copied := *known
		return &copied
	}
	return &operation{Id: id, Type: kind, Name: name}
}

// suspend ends the branch for this invocation.
func (c *Context) suspend() error {
	if !c.suspended {
		c.suspended = true
		c.run.leave(true)
	}
	return errSuspended
}

// leave counts a branch out. The invocation ends when none is left that runs.
func (r *run) leave(committed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.committed = r.committed || committed
	if r.active--; r.active == 0 && r.committed {
		r.fire()
	}
}

func (r *run) enter(branches int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active += branches
}
