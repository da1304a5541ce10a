package lanes

import "time"

// patience is how long a refused record may wait for the answer to its claim, and
// how long a record may do so in its turn and claim again. It is less than the
// time that handlers have to report: the default Margin.
const patience = 250 * time.Millisecond

// failed refuses what may not follow t, all together: records that have begun
// end at the same time, and not one after another.
func (e *execution) failed(t *Turn) {
	switch e.halt {
	case HaltLane:
		for i := t.nextInLane; i >= 0; i = e.turns[i].nextInLane {
			e.refuse(&e.turns[i], e.Errors.AfterFailure)
		}
	case HaltEvent:
		last := e.reach
		e.reach = min(e.reach, t.index+1)
		for i := t.index + 1; i < last; i++ {
			e.refuse(&e.turns[i], e.Errors.AfterFailure)
		}
	}
}

// refuse ends a record without its turn.
func (e *execution) refuse(t *Turn, reason error) {
	if t.decided() {
		return
	}
	t.refused, e.results[t.index] = reason, reason
	switch {
	case t.launched:
		t.hurry = time.AfterFunc(patience, func() { t.cancel(reason) })
		t.wake()
	case t.blocked == 0:
		e.release(t)
	}
}

// timeUp is called when the time has passed, or the context is done.
func (e *execution) timeUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refuseLate()
}

// refuseLate refuses every turn that has not begun.
func (e *execution) refuseLate() {
	for i := range e.turns {
		if t := &e.turns[i]; !t.decided() {
			e.refuse(t, e.Errors.OutOfTime)
			e.failed(t)
		}
	}
}
