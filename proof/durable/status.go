package durable

import (
	"slices"
	"time"
)

// The statuses of an execution. While it is pausing, an invocation has not ended.
const (
	running  = "RUNNING"
	pausing  = "PAUSING"
	paused   = "PAUSED"
	timedOut = "TIMED_OUT"
	halted   = "STOPPED"
)

// progress is an execution at one moment.
type progress struct {
	status, result string        // or the type of its error
	ends           time.Time     // by its timeout
	stopped        time.Time     // since when the timeout's clock does not run; or zero
	changed        chan struct{} // closed when the status changes
}

func (p progress) isClosed() bool {
	return slices.Contains([]string{succeeded, failed, timedOut, halted}, p.status)
}

// look returns the progress, and when the next operation can continue.
func (e *Execution) look() (now progress, due time.Time) {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	e.expire()
	due, _ = e.nextDue()
	return e.progress, due
}

// The methods below need the service's lock.

// expire ends the execution if its time is over.
func (e *Execution) expire() {
	if !e.isClosed() && e.stopped.IsZero() && !time.Now().Before(e.ends) {
		e.set(timedOut, "")
	}
}

func (e *Execution) set(status, result string) {
	e.status, e.result = status, result
	close(e.changed)
	e.changed = make(chan struct{})
}

// Pause lets no invocation begin until Resume. One that runs is told to end with its
// next checkpoint. The clock of the execution's timeout stops, too.
func (e *Execution) Pause() {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	if e.expire(); e.status != running {
		return
	}
	e.stopped = time.Now()
	if e.invoking > 0 {
		e.set(pausing, "")
	} else {
		e.set(paused, "")
	}
}

// Resume continues a paused execution.
func (e *Execution) Resume() {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	if e.expire(); e.status != pausing && e.status != paused {
		return
	}
	if !e.stopped.IsZero() {
		e.ends, e.stopped = e.ends.Add(time.Since(e.stopped)), time.Time{}
	}
	e.set(running, "")
}

// Stop ends the execution.
func (e *Execution) Stop() {
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	if e.expire(); !e.isClosed() {
		e.set(halted, "")
	}
}

// Describe returns the status of an execution, and the result of one that has
// succeeded. It reports whether the service knows the execution.
func (s *Service) Describe(arn string) (status, result string, known bool) {
	s.mu.Lock()
	e := s.all[arn]
	s.mu.Unlock()
	if e == nil {
		return "", "", false
	}
	now, _ := e.look()
	if now.status != succeeded {
		now.result = ""
	}
	return now.status, now.result, true
}

// Forget deletes the history of an execution.
func (s *Service) Forget(arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, arn)
}
