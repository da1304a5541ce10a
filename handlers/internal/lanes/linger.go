package lanes

import (
	"context"
	"time"
)

// longestLinger is how long completions wait for running functions. It is half of the
// default Margin.
const longestLinger = 500 * time.Millisecond

// linger returns a channel that is closed when completions may not wait for running
// functions any longer: when a function waits for one of them, when the time has
// passed, and after longestLinger at the latest. A crash until then runs their functions
// again, which are Unrecorded at most.
func (b *batchRun) linger() <-chan struct{} {
	if b.flushed == nil {
		b.flushed = make(chan struct{})
		b.lingers = time.AfterFunc(longestLinger, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.flush()
		})
	}
	return b.flushed
}

// Prompt reports that a crash would cost more than a second run of the functions that
// have returned. From now on, no completion waits for running functions.
func (t *Turn) Prompt() {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.b.stopLingering()
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
	b.stopLingering()
	b.awaiting++
	defer func() {
		b.awaiting--
		b.advance()
	}()
	for b.in[returned]+b.in[completed] > 0 {
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
	if b.isTimeUp() {
		return b.Errors.OutOfTime
	}
	return nil
}

// stopLingering ends the wait of completions, and lets no later one wait.
func (b *batchRun) stopLingering() {
	b.prompt = true
	b.flush()
}

// claims returns how many claims are about to be written.
func (b *batchRun) claims() (coming int) {
	for i := range b.turns {
		if t := &b.turns[i]; t.expected && !t.hasTurn() {
			coming++
		}
	}
	return coming
}

// isFull reports whether a function waits for a completion.
func (b *batchRun) isFull() bool {
	return len(b.ready) > 0 && b.in[running] < b.Concurrency && b.unrecorded() >= b.Unrecorded
}
