package lambdaruntime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// An Environment is an execution environment. It has at most one process at a time,
// which handles one invocation after the other. Its methods are safe for concurrent
// use.
type Environment struct {
	runtime *Runtime
	number  int
	log     func(line []byte) error
	busy    bool // guarded by runtime.mu

	mu        sync.Mutex
	box       *sandbox // nil without a process
	cold      int
	logStream string
	clock     *clock // nil while no invocation is in progress; paused by Freeze
}

// ColdStarts returns the number of processes that were started here so far.
func (e *Environment) ColdStarts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cold
}

// LogStream returns AWS_LAMBDA_LOG_STREAM_NAME of the latest process, which may be
// dead: the environment's number, a dot, and the number of the process. As on AWS, no
// two processes of a function share it. It is empty before the first start.
//
// [CrashedError] and [TimeoutError] name the process of a failed invocation, which
// may have a successor when LogStream is called.
func (e *Environment) LogStream() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.logStream
}

// Invoke is like [Runtime.Invoke], but uses this environment.
func (e *Environment) Invoke(ctx context.Context, payload []byte) (Response, error) {
	return e.runtime.invoke(ctx, payload, func() *Environment {
		if e.busy {
			return nil
		}
		return e
	})
}

// Freeze stops the process during an invocation, and returns when it has stopped.
// Unlike on AWS, the timeout is paused until Thaw. The deadline that the function
// knows does not change.
func (e *Environment) Freeze() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clock == nil {
		return ErrIdle
	}
	e.clock.pause()
	return e.box.freeze()
}

// Thaw continues a frozen invocation. It has the time that it had left, and at least
// Function.Grace, so that a zombie that wakes up after its deadline can act.
func (e *Environment) Thaw() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clock == nil {
		return ErrIdle
	}
	e.clock.resume(e.runtime.function.Grace)
	return e.box.thaw()
}

// Kill kills the process, if there is one, and returns when it has exited. An
// invocation in progress returns a *CrashedError.
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
	if err := box.thaw(); err != nil {
		return Response{}, errors.Join(err, box.kill())
	}
	timeout := e.runtime.function.Timeout
	clock, began := newClock(timeout), time.Now()
	inv.deadline = began.Add(timeout)
	e.setClock(clock)
	box.api.hand(inv)
	res, answered, err := e.wait(box, inv, clock)
	e.setClock(nil)
	res.Environment, res.Cold, res.RequestID, res.Duration = e.number, cold, inv.id, time.Since(began)
	switch {
	case err != nil || box.isGone(): // the next invocation starts a process
		err = errors.Join(err, box.kill())
	default:
		err = box.freeze()
	}
	if err == nil && !answered {
		err = &CrashedError{
			RequestID: inv.id, LogStream: box.logStream, Status: box.process.State().String(), Output: string(box.output.last),
		}
	}
	return res, err
}

func (e *Environment) setClock(c *clock) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clock = c
}

// sandbox returns the process, and starts one if there is none.
func (e *Environment) sandbox() (box *sandbox, cold bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.box != nil && !e.box.isGone() {
		return e.box, false, nil
	}
	e.cold++
	name := fmt.Sprintf("local/[%s]%d.%d", version, e.number, e.cold)
	e.logStream = name
	e.mu.Unlock() // other methods do not wait for the start
	box, err = newSandbox(e.runtime.function, name, e.log, e.runtime.closing)
	e.mu.Lock()
	e.box = box
	return box, true, err
}

// wait returns when the function has responded and requested more work, when the
// process has exited, or with an error at the timeout.
func (e *Environment) wait(box *sandbox, inv *invocation, clock *clock) (res Response, answered bool, err error) {
	var ready <-chan struct{}
	for {
		select {
		case res = <-inv.answered:
			answered, ready = true, box.api.ready
		case <-ready:
			return res, true, nil
		case <-box.gone:
			select {
			case res = <-inv.answered: // before it exited
				answered = true
			default:
			}
			return res, answered, nil
		case <-clock.timer.C:
			if e.isOver(clock) {
				return res, answered, &TimeoutError{RequestID: inv.id, LogStream: box.logStream, Timeout: e.runtime.function.Timeout}
			}
		case <-e.runtime.closing:
			return res, answered, ErrClosed
		}
	}
}

// isOver reports whether the clock has expired, and was not paused meanwhile. It can
// no longer be paused then.
func (e *Environment) isOver(clock *clock) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if clock.paused() {
		return false
	}
	e.clock = nil
	return true
}

// clock is the time that an invocation has left. It can be paused.
type clock struct {
	left  time.Duration
	since time.Time   // zero while paused
	timer *time.Timer // receives when no time is left
}

func newClock(d time.Duration) *clock {
	return &clock{left: d, since: time.Now(), timer: time.NewTimer(d)}
}

func (c *clock) paused() bool { return c.since.IsZero() }

func (c *clock) pause() {
	if c.paused() {
		return
	}
	c.timer.Stop()
	c.left -= time.Since(c.since)
	c.since = time.Time{}
}

// resume continues with the time that was left, but at least with grace.
func (c *clock) resume(grace time.Duration) {
	if !c.paused() {
		return
	}
	c.left = max(c.left, grace)
	c.since = time.Now()
	c.timer.Reset(c.left)
}
