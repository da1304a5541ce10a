package durable

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A Service starts executions of one function, and invokes it until they end.
type Service struct {
	// Invoke calls the function.
	Invoke func(ctx context.Context, request []byte) ([]byte, error)
	// Timeout is that of an invocation.
	Timeout time.Duration
	// Backoff is the pause before an invocation that failed is repeated.
	Backoff func(try int) time.Duration
	// Pass is called with each checkpoint, and calls apply for it to be stored. It
	// may crash or freeze the invocation, or return an error. Default: apply.
	Pass func(ctx context.Context, checkpoint string, apply func() (string, error)) (string, error)
	// ExecutionTimeout is that of an execution. Default 366 days.
	ExecutionTimeout time.Duration

	mu   sync.Mutex
	all  map[string]*Execution
	over chan struct{} // closed by Close
}

// NewService returns a service. Close it before the test ends.
func NewService(timeout time.Duration, backoff func(try int) time.Duration) *Service {
	return &Service{Timeout: timeout, Backoff: backoff, ExecutionTimeout: 366 * 24 * time.Hour, all: map[string]*Execution{}, over: make(chan struct{})}
}

// Close ends the goroutines of crashed invocations.
func (s *Service) Close() { close(s.over) }

// An Execution is one execution of the function.
type Execution struct {
	ARN  string
	Name string

	service    *Service
	token      int
	operations []*operation
	large      string // a result that was too large for a response
	errors     []error

	progress
	invoking    int  // invocations whose end the service awaits
	interrupted bool // the invocation was told to end
}

// Start creates an execution. Its name is no key: each delivery has its own.
func (s *Service) Start(name, input string) *Execution {
	e := &Execution{
		ARN:  "arn:aws:lambda:eu-central-1:123456789012:function:pay:1/durable-execution/" + name + "/1a2b3c4d-0000-4000-8000-000000000000",
		Name: name, service: s,
		progress: progress{status: running, ends: time.Now().Add(s.ExecutionTimeout), changed: make(chan struct{})},
		operations: []*operation{{
			Id: "0", Type: typeExecution, Status: started, StartTimestamp: timestamp{time.Now()},
			ExecutionDetails: &executionDetails{InputPayload: input},
		}},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[e.ARN] = e
	return e
}

// invocation is one invocation of an execution.
type invocation struct {
	execution *Execution
	dying     sync.Once
	died      chan struct{}
}

type invocationKey struct{}

// ExecutionOf returns the execution whose invocation ctx belongs to.
func ExecutionOf(ctx context.Context) *Execution {
	return ctx.Value(invocationKey{}).(*invocation).execution
}

// Crash ends the process of the invocation that ctx belongs to. It does not
// return, and no deferred function runs before Close.
func Crash(ctx context.Context) {
	i := ctx.Value(invocationKey{}).(*invocation)
	i.dying.Do(func() { close(i.died) })
	<-i.execution.service.over
	runtime.Goexit()
}

// Checkpoint stores an operation, and returns the next token. Without one, the
// execution is paused, and the invocation must end. The service refuses every token
// but the newest.
func (s *Service) Checkpoint(ctx context.Context, arn, token string, o *operation) (string, error) {
	name := strings.TrimSpace(o.Type + " " + o.Status + " " + o.Name)
	s.mu.Lock()
	e := s.all[arn]
	s.mu.Unlock()
	apply := func() (string, error) { return e.checkpoint(token, name, o) }
	if s.Pass == nil {
		return apply()
	}
	return s.Pass(ctx, name, apply)
}

func (e *Execution) checkpoint(token, name string, o *operation) (string, error) {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	if e.expire(); e.isClosed() || token != fmt.Sprint("token-", e.token) {
		return "", fmt.Errorf("durable: invalid checkpoint token at %s", name)
	}
	e.token++
	e.store(o)
	if e.status == pausing {
		e.interrupted = true
		e.set(paused, "")
		return "", nil
	}
	return fmt.Sprint("token-", e.token), nil
}

func (e *Execution) store(o *operation) {
	if o.Type == typeExecution {
		e.large = o.ContextDetails.Result
		return
	}
	copied := *o
	for i, known := range e.operations {
		if known.Id == o.Id {
			copied.StartTimestamp = known.StartTimestamp
			e.operations[i] = &copied
			return
		}
	}
	copied.StartTimestamp = timestamp{time.Now()}
	e.operations = append(e.operations, &copied)
}
