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
	err    error
}

func answerOf(r driver.Record, ok bool, err error) answer { return answer{r, ok, err} }

// together calls write n times at once.
func together(n int, write func(i int) answer) []answer {
	answers := make([]answer, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			answers[i] = write(i)
		})
	}
	close(start)
	done.Wait()
	return answers
}

// winner expects exactly one winner and no errors.
func (s subject) winner(answers []answer) {
	s.Helper()
	var winners int
	for i, a := range answers {
		if a.err != nil {
			s.Fatalf("caller %d: %v", i, a.err)
		}
		if a.ok {
			winners++
		}
	}
	if winners != 1 {
		s.Fatalf("%d winners among %d; want one", winners, len(answers))
	}
}

// one expects exactly one winner, and that all callers received its record.
func (s subject) one(answers []answer) driver.Record {
	s.Helper()
	s.winner(answers)
	stored := s.get()
	for i, a := range answers {
		s.same(fmt.Sprintf("result of caller %d (ok %v)", i, a.ok), stored, a.record)
	}
	return stored
}

func testRace(t *testing.T, h Harness) {
	const callers = 300
	owner := func(i int) string { return fmt.Sprintf("owner-%03d", i) }
	for name, change := range map[string]func(r *driver.Record){
		"create":                        func(r *driver.Record) { r.Status = driver.Absent },
		"create over an expired record": func(r *driver.Record) { r.Lease, r.Expires = now.Add(-2*time.Hour), now.Add(-time.Hour) },
	} {
		h.test(t, name, func(s subject) {
			s.planted(change)
			s.one(together(callers, func(i int) answer {
				return answerOf(s.Store.Create(s.Context(), s.claim(owner(i)), now, nil))
			}))
		})
	}
	h.testClaimed(t, "take over", func(s subject, r driver.Record) {
		won := s.one(together(callers, func(i int) answer {
			f, c, _ := takeOver(r, owner(i))
			return answerOf(s.Store.Change(s.Context(), f, c))
		}))
		if won.Attempt != 2 {
			s.Errorf("attempt %d; want 2", won.Attempt)
		}
	})
	t.Run("finish against take over", func(t *testing.T) { testRaceFinish(t, h) })
	h.testClaimed(t, "steps", func(s subject, r driver.Record) {
		const steps = 40
		for i, a := range together(steps, func(i int) answer {
			return answerOf(s.Store.Change(s.Context(), fenceOf(r), step(fmt.Sprint(i), owner(i))))
		}) {
			if a.err != nil || !a.ok {
				s.Fatalf("step %d: ok %v, error %v", i, a.ok, a.err)
			}
			r = withStep(r, fmt.Sprint(i), owner(i))
		}
		s.stored(r)
	})
	h.testClaimed(t, "extend", func(s subject, r driver.Record) {
		// The latest lease remains, in whichever order heartbeats arrive.
		const heartbeats = 40
		for i, a := range together(heartbeats, func(i int) answer {
			c := driver.Change{Lease: r.Lease.Add(time.Duration(i+1) * time.Second)}
			return answerOf(s.Store.Change(s.Context(), fenceOf(r), c))
		}) {
			if a.err != nil {
				s.Fatalf("heartbeat %d: %v", i, a.err)
			}
		}
		r.Lease = r.Lease.Add(heartbeats * time.Second)
		s.stored(r)
	})
	h.testClaimed(t, "refund", func(s subject, r driver.Record) {
		s.winner(together(callers, func(int) answer {
			return answerOf(s.Store.Change(s.Context(), fenceOf(r), release(driver.ReleaseRefund)))
		}))
		s.stored(afterRelease(r, driver.ReleaseRefund))
	})
}

// testRaceFinish lets an owner finish late during takeovers: either one of them
// wins, or all of them meet the result.
func testRaceFinish(t *testing.T, h Harness) {
	for round := range 20 {
		s := on(t, h)
		s.id += fmt.Sprint(round)
		r := s.claimed("alice")
		s.winner(together(8, func(i int) answer {
			f, c, _ := takeOver(r, fmt.Sprint("owner-", i))
			if i%2 == 0 {
				c = finish(driver.Completed, "42")
			}
			return answerOf(h.Store.Change(t.Context(), f, c))
		}))
		if got := s.get(); got.Status == driver.Completed && got.Owner != "alice" {
			t.Errorf("finished by another: %s", show(got))
		}
	}
}
