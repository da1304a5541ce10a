package crashtest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

// Times of a bubble's clock.
const (
	firstPause  = time.Second
	longestWait = time.Minute
	patience    = time.Hour
)

// strike is a planned crash: its point, counted over all processes, and its kind.
type strike struct {
	number int
	crash  Crash
}

// bubble is one run.
type bubble struct {
	plan    []strike
	trial   Trial
	records *memory.Store
	all     []*process
	result  Result

	mu      sync.Mutex
	points  int
	crashes int  // of the plan, until now
	effect  bool // the last was at a call of Effect
	// answered ends the counting of points: the calls of a duplicate are none.
	answered bool
}

func newBubble(plan []strike, t Trial) *bubble {
	if t.Final == nil {
		t.Final = finalError
	}
	return &bubble{plan: plan, trial: t, records: memory.New(0)}
}

// struck reports whether the whole plan was met.
func (b *bubble) struck() bool { return b.crashes == len(b.plan) }

// run delivers the event until it is answered, twice, and checks the trial.
func (b *bubble) run() {
	if b.trial.Deliver == nil || b.trial.Check == nil {
		b.result.Err = refuse("Trial.Deliver and Trial.Check are required")
		return
	}
	defer b.end()
	first, err := b.ask()
	if err != nil {
		b.result.Err = err
		return
	}
	b.mu.Lock()
	b.answered = true
	b.mu.Unlock()
	for _, p := range b.all {
		if p.frozen() {
			p.thaw()
			<-p.done
		}
	}
	retries := b.result.Retries
	later, err := b.ask()
	if err != nil {
		b.result.Err = fmt.Errorf("repeated: %w", err)
		return
	}
	b.result.Retries = retries
	b.result.Answer = outcome(first)
	b.result.Broken = b.trial.Check()
	if b.result.Broken == nil {
		b.result.Broken = sameError(first, later)
	}
}

// sameError compares the final answer with that of a duplicate. An unknown outcome
// may become known.
func sameError(first, later error) error {
	if errors.Is(first, idempotent.ErrOutcomeUnknown) || fmt.Sprint(first) == fmt.Sprint(later) {
		return nil
	}
	return fmt.Errorf("first answered %s, and a duplicate %s", outcome(first), outcome(later))
}

// ask delivers the event until it has a final answer. It returns the error of that
// delivery, and an error if there is none.
func (b *bubble) ask() (answer, err error) {
	pause := firstPause
	for deadline := time.Now().Add(patience); ; b.result.Retries++ {
		answer, crashed := b.deliver()
		if !crashed && b.trial.Final(answer) {
			return answer, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no final answer in %v; last error: %w", patience, answer)
		}
		time.Sleep(pause)
		pause = min(2*pause, longestWait)
	}
}

// deliver runs a process until it has answered, or has crashed.
func (b *bubble) deliver() (answer error, crashed bool) {
	p := newProcess(b)
	b.all = append(b.all, p)
	go p.run()
	select {
	case <-p.done:
		return p.answer, p.crashed
	case <-p.struck:
		synctest.Wait() // its other goroutines have stopped
		return errCrashed, true
	}
}

// end releases the goroutines of crashed processes, after the checks.
func (b *bubble) end() {
	for _, p := range b.all {
		p.cancel()
		p.thaw()
		<-p.done
	}
}

var errCrashed = errors.New("the process has crashed")

// outcome is an answer in the report.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	const widest = 40
	text := []rune(oneLine(err))
	if len(text) > widest {
		text = append(text[:widest-1], '…')
	}
	return string(text)
}

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
