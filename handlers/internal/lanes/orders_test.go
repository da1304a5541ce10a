//go:build !race

package lanes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/lambda-once/once/handlers/internal/lanes"
)

// What may happen next is a choice: the end of a stage of any record, or that the time
// is up. Every order of choices is played, except beyond what looks like a state that was
// seen before. No time passes: the timers of lingering and of refused claims do not end.
func TestPromisesHoldInEveryOrderOfSmallEvents(t *testing.T) {
	events, states := uint64(1000), 0
	if testing.Short() {
		events = 100
	}
	for number := range events {
		seen := map[string]bool{}
		for orders := [][]int{nil}; len(orders) > 0; {
			order := orders[len(orders)-1]
			orders = orders[:len(orders)-1]
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(number, 3))
				p := &play{event: smallEvent(random), ends: map[int]chan struct{}{}}
				orders = append(orders, p.run(t.Context(), order, seen)...)
				if len(p.wrong) > 0 {
					t.Fatalf("event %d: %+v, %+v, order %v: %s", number, p.runner, p.records, p.order, p.wrong[0])
				}
			})
		}
		states += len(seen)
	}
	t.Logf("%d events went through %d states", events, states)
}

// smallEvent returns an event of two to four records, with one that is not like the rest.
func smallEvent(random *rand.Rand) *event {
	e := randomEvent(random, 2+random.IntN(3))
	e.runner = lanes.Runner{Concurrency: 1 + random.IntN(2), Ahead: random.IntN(4), Unrecorded: random.IntN(5), Errors: runnerErrs}
	r := &e.records[random.IntN(e.size)]
	for _, property := range []*bool{&r.failing, &r.exits, &r.yields, &r.prompts, &r.awaits} {
		*property = random.IntN(4) == 0
	}
	return e
}

// A play is an event whose stages end in an order of choices.
type play struct {
	*event
	ends    map[int]chan struct{} // of the stages that are not over
	wasLate bool                  // one choice earlier
	over    bool                  // no stage takes any time
	order   []int                 // of the choices made: of records, or the size of the event
}

// run makes the choices of an order, and then the first of each state. It returns the
// orders that make the others there.
func (p *play) run(ctx context.Context, order []int, seen map[string]bool) (others [][]int) {
	ctx, timeUp := context.WithCancelCause(ctx)
	defer timeUp(nil)
	p.wait = p.pause
	var results []error
	done := make(chan struct{})
	go func() {
		defer close(done)
		results = p.runner.Run(ctx, p.schedule, p.size, p.one)
	}()
	var before []record
	for {
		synctest.Wait()
		p.promises(before)
		choices := p.choices()
		if len(choices) == 0 {
			break
		}
		before = slices.Clone(p.records)
		if len(p.order) == len(order) {
			state := fmt.Sprint(p.records, p.late)
			if seen[state] || len(p.wrong) > 0 {
				p.see(p.endAll)
				<-done
				return others
			}
			seen[state] = true
			for i := range choices[1:] {
				others = append(others, append(order[:len(order):len(order)], i+1))
			}
			order = append(order[:len(order):len(order)], 0)
		}
		choice := choices[min(order[len(p.order)], len(choices)-1)] // goroutines that wake at once may differ
		p.order = append(p.order, choice)
		if choice < p.size {
			p.see(func() { p.end(choice) })
		} else {
			p.late = true
			timeUp(errLate)
		}
	}
	select {
	case <-done:
		p.results(results)
	default:
		p.check(false, "the event waits for nothing")
		timeUp(errLate)
		<-done
	}
	return others
}

// pause waits until a stage of a record is over.
func (p *play) pause(i int, s stage) {
	end := make(chan struct{})
	p.see(func() {
		p.records[i].waits, p.ends[i] = s, end
		if p.over {
			p.end(i)
		}
	})
	<-end
}

// end ends the stage of a record.
func (p *play) end(i int) {
	close(p.ends[i])
	delete(p.ends, i)
	p.records[i].waits = free
}

// endAll lets the event come to its end.
func (p *play) endAll() {
	p.over = true
	for i := range p.ends {
		p.end(i)
	}
}

// choices returns the records whose stage may end, and the size of the event for the end
// of the time.
func (p *play) choices() (choices []int) {
	for i := range p.records {
		if p.records[i].waits != free {
			choices = append(choices, i)
		}
	}
	if len(choices) > 0 && !p.late {
		choices = append(choices, p.size)
	}
	return choices
}
