package lambdaruntime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Environment is an execution environment: at any time at most one process,
// which handles one invocation after the other. Its methods are safe for
// concurrent use.
type Environment struct {
	runtime *Runtime
	number  int
	log     io.Writer
	busy    bool // guarded by runtime.mu

	mu        sync.Mutex
	box       *sandbox // nil before the first start and after an end
	cold      int
	logStream string
	clock     *clock // nil while no invocation is in progress
	frozen    bool   // by hand
}

// Number is the environment's number, from 0.
func (e *Environment) Number() int { return e.number }

// ColdStarts is the number of processes that were started here so far.
func (e *Environment) ColdStarts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cold
}

// LogStream is what AWS_LAMBDA_LOG_STREAM_NAME says in the process that was
// started last, be it alive or not: the environment's number, a dot, and the
// number of the process. As on AWS no two processes of a function share it.
// It is empty before the first start.
//
// Which process an invocation has died with is said by [CrashedError] and
// [TimeoutError]: by the time somebody asks here, there may be a successor.
func (e *Environment) LogStream() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.logStream
}

// Invoke is like [Runtime.Invoke] in this very environment.
func (e *Environment) Invoke(ctx context.Context, payload []byte) (Response, error) {
	return e.runtime.invoke(ctx, payload, func() *Environment {
		if e.busy {
			return nil
		}
		return e
	})
}

// Freeze stops the process in the middle of an invocation and returns when it
// stands still. Unlike on AWS the clock of the timeout stands still as well,
// until Thaw; the deadline that the function knows does not move.
func (e *Environment) Freeze() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clock == nil {
		return ErrIdle
	}
	e.clock.hold()
	e.frozen = true
	return e.box.freeze()
}

// Thaw lets a frozen invocation go on. It has the time it had left, and at
// least Function.Grace: a zombie that wakes up after its deadline can act.
func (e *Environment) Thaw() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clock == nil {
		return ErrIdle
	}
	if !e.frozen {
		return nil
	}
	e.frozen = false
	e.clock.resume(e.runtime.function.Grace)
	return e.box.thaw()
}

// Kill kills the process, if there is one, and returns when it is gone. An
// invocation in progress ends with a *CrashedError.
func (e *Environment) Kill() error {
	e.mu.Lock()
	box := e.box
	e.mu.Unlock()
	if box == nil {
		return nil
	}
	return box.kill()
}

func (e *Environment) warm() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.box != nil && !e.box.isGone()
}

// run does one invocation. The caller has the environment to itself.
func (e *Environment) run(inv *invocation) (Response, error) {
	box, cold, err := e.sandbox()
	if err != nil {
		return Response{}, err
	}
	timeout := e.runtime.function.Timeout
	began := time.Now()
	inv.deadline = began.Add(timeout)
	e.mu.Lock()
	clock := newClock(timeout)
	e.clock, e.frozen = clock, false
	err = box.thaw()
	e.mu.Unlock()
	if err != nil {
		return Response{}, errors.Join(err, e.end(box))
	}
	box.api.hand(inv)
	res, answered, err := e.wait(box, inv, clock)
	res.Environment, res.Cold, res.RequestID, res.Duration = e.number, cold, inv.id, time.Since(began)
	if err != nil || box.isGone() {
		err = errors.Join(err, e.end(box))
	} else {
		err = e.rest(box)
	}
	if err == nil && !answered {
		err = e.obituary(box, inv)
	}
	return res, err
}

// sandbox answers the process, a new one where there is none.
func (e *Environment) sandbox() (_ *sandbox, cold bool, err error) {
	e.mu.Lock()
	box := e.box
	e.mu.Unlock()
	if box != nil && !box.isGone() {
		return box, false, nil
	}
	e.mu.Lock()
	e.cold++
	e.logStream = fmt.Sprintf("local/[%s]%d.%d", version, e.number, e.cold)
	name := e.logStream
	e.mu.Unlock()
	box, err = newSandbox(e.runtime.function, name, e.log, e.runtime.closing)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.box = nil
		return nil, true, err
	}
	e.box = box
	return box, true, nil
}

// wait returns when the function has answered and asked for more work, when
// the process is gone, or with an error when the time is over.
func (e *Environment) wait(box *sandbox, inv *invocation, clock *clock) (res Response, answered bool, err error) {
	for {
		var ready <-chan struct{}
		if answered {
			ready = box.api.ready()
		}
		select {
		case res = <-inv.answered:
			answered = true
		case <-ready:
			return res, true, nil
		case <-box.gone:
			if !answered { // it may have been its last word
				select {
				case res = <-inv.answered:
					answered = true
				default:
				}
			}
			return res, answered, nil
		case <-clock.expired():
			e.mu.Lock()
			held := e.frozen
			e.mu.Unlock()
			if !held { // else it fired while it was being held
				return res, answered, &TimeoutError{RequestID: inv.id, LogStream: box.logStream, Timeout: e.runtime.function.Timeout}
			}
		case <-e.runtime.closing:
			return res, answered, ErrClosed
		}
	}
}

// rest freezes the process until the next invocation.
func (e *Environment) rest(box *sandbox) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clock, e.frozen = nil, false
	return box.freeze()
}

// end kills the process. The next invocation starts a new one.
func (e *Environment) end(box *sandbox) error {
	e.mu.Lock()
	e.clock, e.frozen = nil, false
	e.mu.Unlock()
	return box.kill()
}

func (e *Environment) obituary(box *sandbox, inv *invocation) error {
	return &CrashedError{RequestID: inv.id, LogStream: box.logStream, Status: box.process.State().String(), Output: box.output.tail()}
}
