package lanes

import "time"

// patience is how long a refused record may wait for the answer to its claim, and
// how long a record may do so in its turn and claim again. It is less than the
// time that handlers have to report: the default Margin.
const patience = 250 * time.Millisecond

// failed refuses all records that may not follow t together: records that have begun
// end at the same time, and not one by one.
func (b *batchRun) failed(t *Turn) {
	switch b.halt {
	case HaltLane:
		for i := t.nextInLane; i >= 0; i = b.turns[i].nextInLane {
			b.refuse(&b.turns[i], b.Errors.AfterFailure)
		}
	case HaltEvent:
		last := b.reach
		b.reach = min(b.reach, t.index+1)
		for i := t.index + 1; i < last; i++ {
			b.refuse(&b.turns[i], b.Errors.AfterFailure)
		}
	}
}

// refuse ends a record without its turn.
func (b *batchRun) refuse(t *Turn, reason error) {
	if t.isDecided() {
		return
	}
	b.results[t.index] = reason
	if t.phase == waiting {
		b.release(t)
		return
	}
	b.set(t, refused)
	t.hurry = time.AfterFunc(patience, func() { t.cancel(reason) })
	t.wake()
}

// timeUp is called when the time has passed, or the context is done.
func (b *batchRun) timeUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flush()
	b.refuseAll()
}

// refuseAll refuses every turn that has not begun.
func (b *batchRun) refuseAll() {
	for i := range b.turns {
		if t := &b.turns[i]; !t.isDecided() {
			b.refuse(t, b.Errors.OutOfTime)
			b.failed(t)
		}
	}
}
