package lambdaruntime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// A Runtime runs one function in a number of environments. Its methods are safe for
// concurrent use.
type Runtime struct {
	function     Function
	environments []*Environment
	closing      chan struct{}
	running      sync.WaitGroup
	detach       func() bool

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when an environment is free
	closed  bool
}

// Start returns a runtime. No process runs before the first invocation. When ctx is
// done, all processes are killed as by Close, which must still be called.
func Start(ctx context.Context, f Function) (*Runtime, error) {
	f, err := f.withDefaults()
	if err != nil {
		return nil, err
	}
	if f.Wire != nil {
		proxy, err := f.Wire.elsewhere()
		if err != nil {
			return nil, err
		}
		f.Env = append([]string{"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy}, f.Env...)
	}
	r := &Runtime{function: f, closing: make(chan struct{}), changed: make(chan struct{})}
	var logging sync.Mutex
	for i := range f.Environments {
		log := func(line []byte) error {
			logging.Lock()
			defer logging.Unlock()
			_, err := fmt.Fprintf(f.Log, "%s/%d %s\n", f.Name, i, line)
			return err
		}
		r.environments = append(r.environments, &Environment{runtime: r, number: i, log: log})
	}
	r.detach = context.AfterFunc(ctx, func() {
		_ = r.close() // Close returns the errors
	})
	return r, nil
}

// Environments returns the number of environments.
func (r *Runtime) Environments() int { return len(r.environments) }

// Environment returns the environment with that number, from 0.
func (r *Runtime) Environment(i int) *Environment { return r.environments[i] }

// ColdStarts returns the number of processes that were started so far.
func (r *Runtime) ColdStarts() int {
	n := 0
	for _, e := range r.environments {
		n += e.ColdStarts()
	}
	return n
}

// Invoke runs the function on a JSON payload. It prefers an idle environment with a
// process, then one without, and otherwise waits for one.
//
// The error is nil if the function responded, also with an error of its own: see
// Response.FunctionError. Otherwise it is an *InitError, a *TimeoutError or a
// *CrashedError. When ctx is done, Invoke returns, and the invocation continues.
func (r *Runtime) Invoke(ctx context.Context, payload []byte) (Response, error) {
	return r.invoke(ctx, payload, func() *Environment {
		var cold *Environment
		for _, e := range r.environments {
			switch {
			case e.busy:
			case e.warm():
				return e
			case cold == nil:
				cold = e
			}
		}
		return cold
	})
}

// invoke runs in the environment that pick returns. It calls pick with mu locked,
// until it returns one.
func (r *Runtime) invoke(ctx context.Context, payload []byte, pick func() *Environment) (Response, error) {
	if len(payload) > maxPayload {
		return Response{}, fmt.Errorf("lambdaruntime: the payload has %d bytes, the limit is %d", len(payload), maxPayload)
	}
	if !json.Valid(payload) {
		return Response{}, errors.New("lambdaruntime: the payload is not JSON")
	}
	e, err := r.acquire(ctx, pick)
	if err != nil {
		return Response{}, err
	}
	var res Response
	done := make(chan struct{})
	go func() {
		defer r.running.Done()
		defer close(done)
		res, err = e.run(newInvocation(ctx, payload))
		r.release(e)
	}()
	select {
	case <-done:
		return res, err
	case <-ctx.Done():
		return Response{}, fmt.Errorf("lambdaruntime: %w", context.Cause(ctx))
	}
}

func (r *Runtime) acquire(ctx context.Context, pick func() *Environment) (*Environment, error) {
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return nil, ErrClosed
		}
		if e := pick(); e != nil {
			e.busy = true
			r.running.Add(1)
			r.mu.Unlock()
			return e, nil
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-r.closing:
		case <-ctx.Done():
			return nil, fmt.Errorf("lambdaruntime: %w", context.Cause(ctx))
		}
	}
}

func (r *Runtime) release(e *Environment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.busy = false
	close(r.changed)
	r.changed = make(chan struct{})
}

// Close kills all processes, also during an invocation, and waits until they have
// exited. Invocations in progress return ErrClosed.
func (r *Runtime) Close() error {
	r.detach()
	return r.close()
}

func (r *Runtime) close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.closing)
	}
	r.mu.Unlock()
	// An invocation in progress may be starting a process, which it kills
	// itself. The remaining processes are idle.
	r.running.Wait()
	var errs []error
	for _, e := range r.environments {
		errs = append(errs, e.Kill())
	}
	return errors.Join(errs...)
}
