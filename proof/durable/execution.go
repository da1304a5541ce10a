package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Run invokes the function until the execution ends, and returns its status, and its
// result or the type of its error. An invocation that fails is repeated until the
// execution times out.
func (e *Execution) Run(ctx context.Context) (status, result string) {
	try, next := 1, time.Now()
	for ctx.Err() == nil {
		now, _ := e.look()
		if now.isClosed() {
			return now.status, now.result
		}
		wait := next
		switch {
		case now.status == running && !time.Now().Before(next):
			if _, err := e.Once(ctx); err == nil {
				try = 1
				_, next = e.look()
			} else {
				next = time.Now().Add(e.service.Backoff(try))
				try++
			}
			continue
		case !now.stopped.IsZero():
			wait = time.Now().Add(365 * 24 * time.Hour) // unknown
		case now.status != running || now.ends.Before(next):
			wait = now.ends
		}
		timer := time.NewTimer(time.Until(wait))
		select {
		case <-timer.C:
		case <-now.changed:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return "CANCELLED", fmt.Sprint(errors.Join(e.Errors()...))
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

// request returns the next request. What is due has happened.
func (e *Execution) request() []byte {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	e.token++
	e.invoking++
	e.interrupted = false
	for _, o := range e.operations {
		if at, waits := o.due(); waits && !time.Now().Before(at) {
			o.Status = map[string]string{typeWait: succeeded, typeStep: "READY"}[o.Type]
		}
	}
	text, err := json.Marshal(request{
		CheckpointToken: fmt.Sprint("token-", e.token), DurableExecutionArn: e.ARN, InitialExecutionState: state{Operations: e.operations},
	})
	if err != nil {
		panic(err)
	}
	return text
}

// record stores how an invocation ended.
func (e *Execution) record(text []byte, err error) (response, error) {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	e.token++ // of this invocation no checkpoint counts any more
	e.invoking--
	if e.expire(); e.status == pausing {
		e.set(paused, "")
	}
	var answer response
	if err == nil {
		answer, err = e.accept(text)
	}
	if err != nil {
		e.errors = append(e.errors, err)
		return response{}, err
	}
	switch {
	case e.isClosed():
	case answer.Status == succeeded:
		switch {
		case answer.Result == nil:
			answer.Result = new(string)
		case *answer.Result == "":
			answer.Result = &e.large
		}
		e.set(succeeded, *answer.Result)
	case answer.Status == failed:
		e.set(failed, answer.Error.ErrorType)
	}
	return answer, nil
}

// accept ends the execution after a response whose status does not fit.
func (e *Execution) accept(text []byte) (response, error) {
	var answer response
	refused := ""
	_, waiting := e.nextDue()
	switch err := json.Unmarshal(text, &answer); {
	case err == nil && answer.Status == succeeded && answer.Error != nil:
		refused = "Cannot provide an Error for SUCCEEDED status."
	case err == nil && answer.Status == failed && answer.Result != nil:
		refused = "Cannot provide a Result for FAILED status."
	case err == nil && answer.Status == pending && !e.interrupted && !waiting:
		refused = "Cannot return PENDING status with no pending operations."
	case err != nil || answer.Status != succeeded && answer.Status != failed && answer.Status != pending:
		refused = "Invalid Status in invocation output."
	}
	if refused == "" {
		return answer, nil
	}
	if !e.isClosed() {
		e.set(failed, "InvalidParameterValueException")
	}
	return response{}, errors.New("InvalidParameterValueException: " + refused)
}

// nextDue returns when the next operation can continue, or false if none waits. It needs
// the service's lock.
func (e *Execution) nextDue() (next time.Time, waiting bool) {
	for _, o := range e.operations {
		if at, waits := o.due(); waits && (!waiting || at.Before(next)) {
			next, waiting = at, true
		}
	}
	return next, waiting
}

// Errors returns the errors of its invocations.
func (e *Execution) Errors() []error {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	return slices.Clone(e.errors)
}
