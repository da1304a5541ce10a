package crashtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// Effect marks the moment before an effect outside of the store, such as a request to
// a payment provider. [PlayHandler] crashes the handler there. Call it in the fakes of
// a test; ctx is the context of the handler, or derived from it. With any other
// context, Effect does nothing.
func Effect(ctx context.Context, name string) {
	p, ok := ctx.Value(processKey{}).(*process)
	if !ok {
		return
	}
	if alive := p.passes(ctx, name, true, func(context.Context) {}); !alive {
		runtime.Goexit()
	}
}

// errKilled is returned by the store to a killed process when its trial is over.
var errKilled = errors.New("crashtest: the process was killed")

// store is the store that one process sees.
type store struct{ process *process }

func (s *store) Create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (met driver.Record, ok bool, err error) {
	name := "claim"
	if r.Status != driver.InProgress {
		name = "create"
	}
	if !s.process.passes(ctx, name, false, func(ctx context.Context) {
		met, ok, err = s.process.bubble.records.Create(ctx, r, cutoff, with)
	}) {
		return driver.Record{}, false, errKilled
	}
	return met, ok, err
}

func (s *store) Change(ctx context.Context, f driver.Fence, c driver.Change) (met driver.Record, ok bool, err error) {
	if !s.process.passes(ctx, changeName(c), false, func(ctx context.Context) {
		met, ok, err = s.process.bubble.records.Change(ctx, f, c)
	}) {
		return driver.Record{}, false, errKilled
	}
	return met, ok, err
}

func (s *store) Get(ctx context.Context, id string) (met driver.Record, err error) {
	if !s.process.passes(ctx, "read", false, func(ctx context.Context) {
		met, err = s.process.bubble.records.Get(ctx, id)
	}) {
		return driver.Record{}, errKilled
	}
	return met, err
}

// extend is the name of a renewal. It comes when the clock says so, while the handler
// is busy elsewhere.
const extend = "extend"

func changeName(c driver.Change) string {
	switch {
	case c.Release != 0:
		return "release"
	case c.Status == driver.Completed:
		return "complete"
	case c.Status == driver.Failed:
		return "fail"
	case c.Owner != "":
		return "take over"
	case len(c.Steps) > 0:
		for name := range c.Steps {
			return fmt.Sprintf("step %q", name)
		}
	}
	return extend
}

// passes makes the call of a point, unless its process crashes there. It reports
// whether the process is alive. It blocks while its process is dead or frozen: a
// process that is killed runs no deferred function either.
func (p *process) passes(ctx context.Context, name string, effect bool, do func(context.Context)) (alive bool) {
	crash := p.bubble.arrive(p, name, effect)
	switch crash {
	case NoCrash:
	case KilledBefore, FrozenBefore:
		close(p.struck)
		<-p.thawed
		ctx = context.WithoutCancel(ctx) // the call was on its way
	case KilledAfter, FrozenAfter:
		do(ctx)
		close(p.struck)
		<-p.thawed
		return p.frozen()
	default:
		<-p.thawed
	}
	if crash != NoCrash && !p.frozen() {
		return false
	}
	do(ctx)
	return true
}

// beyond is the crash of a process that has crashed at an earlier point.
const beyond Crash = 255

// arrive counts a point, and returns the crash that is planned there.
func (b *bubble) arrive(p *process, name string, effect bool) Crash {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.crash != NoCrash {
		return beyond
	}
	if name == extend || p.ctx.Err() != nil || b.answered {
		return NoCrash
	}
	b.points++
	if b.crashes == len(b.plan) || b.plan[b.crashes].number != b.points {
		return NoCrash
	}
	p.crash = b.plan[b.crashes].crash
	if b.crashes > 0 {
		b.result.Earlier = b.result.point()
	}
	b.result.Number, b.result.Call, b.result.Crash = b.points, name, p.crash
	b.crashes++
	b.effect = effect
	return p.crash
}
