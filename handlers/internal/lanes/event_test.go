package lanes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/lambda-once/once/handlers/internal/lanes"
)

// A stage is what a record waits for.
type stage uint8

const (
	free      stage = iota // for nothing, or for the runner
	claiming               // the answer to its claim
	releasing              // the answer to the release of its claim
	running                // its function
	encoding               // its result
	recording              // the answer to its completion
)

// event is a random event, and what is seen while it runs.
type event struct {
	size     int
	runner   lanes.Runner
	schedule lanes.Schedule
	records  []record
	// wait returns when a stage of a record is over.
	wait func(i int, s stage)

	mu   sync.Mutex
	sent chan struct{} // closed when completions that linger leave with a later one
	// late and prompt report that the time is up, and that no completion may linger.
	late, prompt bool
	wrong        []string
}

// A record is one of an event, and how far it is. One that exits ends its goroutine
// without a turn.
type record struct {
	lane, key                                         int
	replayed, failing, exits, yields, prompts, awaits bool

	launched, ahead, gaveBack, started, returned, lingers, ended bool

	// Of a play alone.
	waits          stage
	refused, ready bool // ready: it waits for room alone
}

// randomEvent returns an event of records of which each is, now and then, not like the rest.
func randomEvent(random *rand.Rand, size int) *event {
	e := &event{size: size, sent: make(chan struct{})}
	e.runner = lanes.Runner{Concurrency: 1 + random.IntN(4), Ahead: random.IntN(12), Unrecorded: random.IntN(8), Errors: runnerErrs}
	width := 1 + random.IntN(size)
	rarely := func() bool { return random.IntN(12) == 0 }
	var keys []int
	for range size {
		r := record{lane: random.IntN(width), key: random.IntN(2*size) + 1, replayed: random.IntN(4) == 0,
			failing: rarely(), exits: rarely(), yields: rarely(), prompts: rarely(), awaits: rarely()}
		e.records, keys = append(e.records, r), append(keys, r.key)
	}
	e.schedule = lanes.Schedule{Lanes: lanes.By(size, func(i int) int { return e.records[i].lane }), Halt: lanes.Halt(random.IntN(3)), Duplicates: lanes.Duplicates(keys)}
	return e
}

// one is a record: it claims, takes its turn, runs, and is recorded.
func (e *event) one(ctx context.Context, turn *lanes.Turn) error {
	i := turn.Index()
	r := &e.records[i]
	defer e.see(func() { r.ended = true })
	e.see(func() { e.launch(i, turn.Ahead()) })
	e.wait(i, claiming)
	turn.Arrive()
	if r.exits {
		runtime.Goexit()
	}
	err := turn.TakeClaimed(ctx)
	if err == errYielded {
		e.wait(i, releasing)
		e.see(func() { r.gaveBack = true })
		err = turn.Take(ctx)
	}
	if err != nil {
		e.wait(i, releasing)
		return err
	}
	e.see(func() { e.start(i) })
	if r.yields {
		turn.Yield()
	}
	if r.prompts {
		turn.Prompt()
	}
	if r.awaits {
		if err := turn.AwaitRecorded(ctx); err != nil {
			return err
		}
	}
	if !r.replayed {
		e.wait(i, running)
	}
	if r.failing {
		e.wait(i, releasing)
		return errOwn
	}
	e.see(func() { r.returned = true })
	turn.Returned()
	if !r.replayed {
		e.wait(i, encoding)
		e.complete(i, turn)
	}
	return nil
}

// complete sends a completion. Those that linger leave with it, if no other is to come.
func (e *event) complete(i int, turn *lanes.Turn) {
	r := &e.records[i]
	var left, end <-chan struct{}
	e.see(func() {
		coming, ended := turn.Arrive()
		left, end, r.lingers = e.sent, ended, ended != nil
		if coming == 0 {
			close(e.sent)
			e.sent = make(chan struct{})
		}
	})
	if end != nil {
		select {
		case <-end:
		case <-left:
		}
		e.see(func() { r.lingers = false })
	}
	e.wait(i, recording)
}

// see calls f, which looks at the whole event, by itself.
func (e *event) see(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

func (e *event) check(ok bool, format string, args ...any) {
	if !ok {
		e.wrong = append(e.wrong, fmt.Sprintf(format, args...))
	}
}

// count returns of how many records something is true.
func (e *event) count(is func(r *record) bool) (n int) {
	for i := range e.records {
		if is(&e.records[i]) {
			n++
		}
	}
	return n
}

// unrecorded reports whether a record is known to have its turn.
func (r *record) unrecorded() bool { return r.launched && !r.ended && (r.started || !r.ahead) }
func (r *record) runs() bool       { return r.unrecorded() && !r.returned }

func (e *event) launch(i int, ahead bool) {
	e.records[i].launched, e.records[i].ahead = true, ahead
	if !ahead {
		return
	}
	begun := e.count(func(r *record) bool { return r.ahead && !r.started && !r.ended })
	e.check(begun <= e.runner.Ahead+e.runner.Concurrency, "%d records have begun and wait, of %d and %d", begun, e.runner.Ahead, e.runner.Concurrency)
	for j := range i {
		e.check(e.records[j].key != e.records[i].key || e.records[j].ended, "%d began before its duplicate %d had ended", i, j)
	}
}

// unrecordedLimit is how many functions may have run and not be recorded.
func (e *event) unrecordedLimit() int {
	if e.runner.Unrecorded == 0 {
		return e.runner.Concurrency
	}
	return e.runner.Unrecorded
}

func (e *event) start(i int) {
	r := &e.records[i]
	r.started = true
	e.prompt = e.prompt || r.yields || r.prompts || r.awaits
	n := e.count((*record).runs)
	e.check(n <= e.runner.Concurrency, "%d functions run at once, of %d", n, e.runner.Concurrency)
	n = e.count((*record).unrecorded)
	e.check(n <= e.unrecordedLimit(), "%d functions are not recorded, of %d", n, e.unrecordedLimit())
	for j := range i {
		before := &e.records[j]
		e.check(before.lane != r.lane || before.ended, "%d started before %d of its lane had ended", i, j)
		e.check(before.key != r.key || before.ended || !before.launched, "%d started before its duplicate %d had ended", i, j)
	}
}

// halts reports whether record i may not begin after j has failed.
func (e *event) halts(j, i int) bool {
	return e.schedule.Halt == lanes.HaltEvent || e.schedule.Halt == lanes.HaltLane && e.records[j].lane == e.records[i].lane
}

// results says what each record must return, if all of its event are known.
func (e *event) results(got []error) {
	for i, err := range got {
		r := &e.records[i]
		switch {
		case r.exits && err == errNoEnd:
		case r.started && r.awaits && e.late && err == errLate:
		case r.started && r.failing:
			e.check(err == errOwn, "%d failed, and returned %v", i, err)
		case r.started:
			e.check(err == nil, "%d ran, and returned %v", i, err)
		default:
			e.check(err == errLate && e.late || err == errHalted && e.schedule.Halt != lanes.HaltNothing, "%d did not run, and returned %v", i, err)
		}
		for j := range i {
			if b := &e.records[j]; b.failing && b.started && !r.exits && e.halts(j, i) {
				e.check(!r.started || e.schedule.Halt == lanes.HaltEvent, "%d follows a failure in its lane, and ran", i)
			}
		}
	}
}
