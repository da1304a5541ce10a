package crashtest

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// process stands for the process of one delivery.
type process struct {
	bubble *bubble
	ctx    context.Context // done when the process has ended
	cancel context.CancelFunc
	thaw   func()        // closes thawed
	struck chan struct{} // closed when it has crashed
	thawed chan struct{} // closed when it continues after that, or ends
	done   chan struct{} // closed when it has ended
	crash  Crash         // guarded by bubble.mu

	// Written before done is closed.
	answer  error
	crashed bool
}

type processKey struct{}

func newProcess(b *bubble) *process {
	p := &process{bubble: b, struck: make(chan struct{}), thawed: make(chan struct{}), done: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.WithValue(context.Background(), processKey{}, p))
	p.thaw = sync.OnceFunc(func() { close(p.thawed) })
	return p
}

// frozen reports whether the process has stopped, and will continue.
func (p *process) frozen() bool {
	p.bubble.mu.Lock()
	defer p.bubble.mu.Unlock()
	return p.crash == FrozenBefore || p.crash == FrozenAfter
}

// run ends without an answer after a panic, with which a process exits, and after
// runtime.Goexit. The goroutines that it leaves behind are discarded.
func (p *process) run() {
	defer close(p.done)
	defer p.cancel()
	p.answer, p.crashed = errCrashed, true
	defer func() {
		if v := recover(); v != nil {
			p.answer = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	err := p.bubble.trial.Deliver(p.ctx, &store{p})
	p.answer, p.crashed = err, false
}
