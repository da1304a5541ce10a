package lanes

import (
	"context"
	"time"
)

// longestHold is how long completions wait for running functions. It is half of the
// default Margin.
const longestHold = 500 * time.Millisecond

// hold returns a channel that is closed when completions may not wait for running
// functions any longer: when a function waits for one of them, when the time has
// passed, and after longestHold at the latest. A crash until then runs their functions
// again, which are Unrecorded at most.
func (b *batchRun) hold() <-chan struct{} {
	if b.held == nil {
		b.held = make(chan struct{})
		b.holds = time.AfterFunc(longestHold, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.endHold()
		})
	}
	return b.held
}

// endHold ends the wait of completions.
func (b *batchRun) endHold() {
	if b.held != nil {
		b.holds.Stop()
		close(b.held)
		b.held = nil
	}
}

// Prompt reports that a crash would cost more than a second run of the functions that
// have returned. From now on, no completion waits for running functions.
func (t *Turn) Prompt() {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.b.stopHolding()
}

// AwaitRecorded waits, in the turn, until every function that has returned is recorded.
// Until then no turn begins. It serves a function that may have ended its process
// before: sending the completions as it begins is too late, since the process may end
// before they arrive. From now on, no completion waits for running functions. If ctx
// ends first, AwaitRecorded returns its cause, and if the function may not start any
// more, an error of [Errors].
func (t *Turn) AwaitRecorded(ctx context.Context) error {
	b := t.b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopHolding()
	b.recording++
	defer func() {
		b.recording--
		b.advance()
	}()
	for b.unrecorded > b.running {
		if b.recorded == nil {
			b.recorded = make(chan struct{})
		}
		recorded := b.recorded
		b.mu.Unlock()
		select {
		case <-recorded:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if b.late() {
		return b.Errors.OutOfTime
	}
	return nil
}

// stopHolding ends the wait of completions, and lets no later one wait.
func (b *batchRun) stopHolding() {
	b.prompt = true
	b.endHold()
}

// claims returns how many claims are about to be written.
func (b *batchRun) claims() (coming int) {
	for i := range b.turns {
		if t := &b.turns[i]; t.expected && !t.granted {
			coming++
		}
	}
	return coming
}

// endHoldAfterLast ends the wait of completions if no write is to come.
func (b *batchRun) endHoldAfterLast() {
	if b.coming+b.completing == 0 {
		b.endHold()
	}
}

// full reports whether a function waits for a completion.
func (b *batchRun) full() bool {
	return len(b.ready) > 0 && b.running < b.Concurrency && b.unrecorded >= b.Unrecorded
}
