package durable

import (
	"context"
	"encoding/json"
	"errors"
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

	mu   sync.Mutex
	all  map[string]*Execution
	over chan struct{} // closed by Close
}

// NewService returns a service. Close it before the test ends.
func NewService(timeout time.Duration, backoff func(try int) time.Duration) *Service {
	return &Service{Timeout: timeout, Backoff: backoff, all: map[string]*Execution{}, over: make(chan struct{})}
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
}

// Start creates an execution. Its name is no key: each delivery has its own.
func (s *Service) Start(name, input string) *Execution {
	e := &Execution{
		ARN:  "arn:aws:lambda:eu-central-1:123456789012:function:pay:1/durable-execution/" + name + "/1a2b3c4d-0000-4000-8000-000000000000",
		Name: name, service: s,
		operations: []*operation{{
			Id: "0", Type: typeExecution, Status: started, StartTimestamp: milliseconds{time.Now()},
			ExecutionDetails: &executionDetails{InputPayload: input},
		}},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[e.ARN] = e
	return e
}

// tries is how often the service repeats an invocation before it gives up.
const tries = 200

// Run invokes the function until the execution ends, and returns the last
// response: its status, and its result or error.
func (e *Execution) Run(ctx context.Context) (status, result string) {
	for try := 1; ctx.Err() == nil && try <= tries; {
		answer, err := e.Once(ctx)
		wait := time.Duration(0)
		switch {
		case err != nil:
			wait = e.service.Backoff(try)
			try++
		case answer.Status == pending:
			wait, try = e.untilDue(), 1
		case answer.Status == succeeded:
			return succeeded, *answer.Result
		default:
			return answer.Status, answer.Error.ErrorType
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return "GIVEN UP", fmt.Sprint(errors.Join(e.Errors()...))
}

// Once makes one invocation.
func (e *Execution) Once(ctx context.Context) (response, error) {
	i := &invocation{execution: e, died: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, invocationKey{}, i), e.service.Timeout)
	defer cancel()
	type outcome struct {
		text []byte
		err  error
	}
	done := make(chan outcome, 1) // a frozen invocation ends when nobody waits
	request := e.request()
	go func() {
		text, err := e.service.Invoke(ctx, request)
		done <- outcome{text, err}
	}()
	select {
	case o := <-done:
		return e.record(o.text, o.err)
	case <-i.died:
		return e.record(nil, errors.New("Runtime.ExitError"))
	case <-ctx.Done():
		return e.record(nil, errors.New("Sandbox.Timedout"))
	}
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

// record stores how an invocation ended.
func (e *Execution) record(text []byte, err error) (response, error) {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	e.token++ // of this invocation no checkpoint counts any more
	var answer response
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		e.errors = append(e.errors, err)
		return response{}, err
	}
	if answer.Result != nil && *answer.Result == "" {
		answer.Result = &e.large
	}
	return answer, nil
}

// Errors returns the errors of its invocations.
func (e *Execution) Errors() []error {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	return append([]error(nil), e.errors...)
}

// request returns the next request. What is due has happened.
func (e *Execution) request() []byte {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	e.token++
	for _, o := range e.operations {
		if at, waits := o.due(); waits && !time.Now().Before(at) {
			o.Status = map[string]string{typeWait: succeeded, typeStep: "READY"}[o.Type]
		}
	}
	text, err := json.Marshal(request{
		CheckpointToken: fmt.Sprint("token-", e.token), DurableExecutionArn: e.ARN,
		InitialExecutionState: state{Operations: e.operations},
	})
	if err != nil {
		panic(err)
	}
	return text
}

// untilDue returns the time until the next operation can continue.
func (e *Execution) untilDue() time.Duration {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	var next time.Duration
	found := false
	for _, o := range e.operations {
		if at, waits := o.due(); waits && (!found || time.Until(at) < next) {
			next, found = time.Until(at), true
		}
	}
	return max(next, 0)
}

// Checkpoint stores an operation, and returns the next token. The service
// refuses every token but the newest.
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
	if token != fmt.Sprint("token-", e.token) {
		return "", fmt.Errorf("durable: invalid checkpoint token at %s", name)
	}
	e.token++
	if o.Type == typeExecution {
		e.large = o.ContextDetails.Result
		return fmt.Sprint("token-", e.token), nil
	}
	copied := *o
	for i, known := range e.operations {
		if known.Id == o.Id {
			copied.StartTimestamp = known.StartTimestamp
			e.operations[i] = &copied
			return fmt.Sprint("token-", e.token), nil
		}
	}
	copied.StartTimestamp = milliseconds{time.Now()}
	e.operations = append(e.operations, &copied)
	return fmt.Sprint("token-", e.token), nil
}
