package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// answer is the result of one of many concurrent calls.
type answer struct {
	record driver.Record
	ok     bool
}

// together makes n writes at once, and expects no errors.
func (s *subject) together(n int, request func(i int) *write) []answer {
	s.Helper()
	answers, errs := make([]answer, n), make([]error, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			answers[i].record, answers[i].ok, errs[i] = request(i).call(s.Context(), s.Store)
		})
	}
	close(start)
	done.Wait()
	for i, err := range errs {
		if err != nil {
			s.Fatalf("caller %d: %v", i, err)
		}
	}
	return answers
}

// winner expects exactly one winner.
func (s *subject) winner(answers []answer) {
	s.Helper()
	var winners int
	for _, a := range answers {
		if a.ok {
			winners++
		}
	}
	if winners != 1 {
		s.Fatalf("%d winners among %d; want one", winners, len(answers))
	}
}

// one expects exactly one winner, and that all callers received its record.
func (s *subject) one(answers []answer) driver.Record {
	s.Helper()
	s.winner(answers)
	stored := s.get()
	for i, a := range answers {
		s.same(fmt.Sprintf("result of caller %d (ok %v)", i, a.ok), stored, a.record)
	}
	return stored
}

func testRace(t *testing.T, h Harness) {
	const callers, writes = 300, 40
	owner := func(i int) string { return fmt.Sprintf("owner-%03d", i) }
	create := func(s *subject) {
		s.one(s.together(callers, func(i int) *write { return s.creation(claim(owner(i)), now) }))
	}
	h.test(t, "create", create)
	h.test(t, "create over an expired record", planted(expired), create)
	h.test(t, "take over", claimed, func(s *subject) {
		won := s.one(s.together(callers, func(i int) *write { return s.alteration(takeOver(owner(i))) }))
		if won.Attempt != 2 {
			s.Errorf("attempt %d; want 2", won.Attempt)
		}
	})
	// An owner finishes late, during takeovers: only one write wins.
	t.Run("finish against take over", func(t *testing.T) {
		for round := range 20 {
			s := on(t, h).another(fmt.Sprint(round))
			s.do(claimed)
			s.winner(s.together(8, func(i int) *write {
				if i%2 == 0 {
					return s.alteration(finish(driver.Completed, "42"))
				}
				return s.alteration(takeOver(owner(i)))
			}))
			if got := s.get(); got.Status == driver.Completed && got.Owner != "alice" {
				t.Errorf("finished by another: %s", show(got))
			}
		}
	})
	h.test(t, "steps", claimed, func(s *subject) {
		answers := s.together(writes, func(i int) *write { return s.alteration(step(fmt.Sprint(i), owner(i))) })
		for i, a := range answers {
			if !a.ok {
				s.Fatalf("step %d has lost", i)
			}
			s.item = withStep(s.item, fmt.Sprint(i), owner(i))
		}
	}, (*subject).check)
	// The latest lease remains, in whichever order heartbeats arrive.
	h.test(t, "extend", claimed, func(s *subject) {
		begin := s.item.Lease
		s.together(writes, func(i int) *write {
			return s.alteration(driver.Change{Lease: begin.Add(time.Duration(i+1) * time.Second)})
		})
		s.item.Lease = begin.Add(writes * time.Second)
	}, (*subject).check)
	h.test(t, "refund", claimed, func(s *subject) {
		s.winner(s.together(callers, func(int) *write { return s.alteration(refund) }))
		s.item = after(s.item, refund)
	}, (*subject).check)
}
