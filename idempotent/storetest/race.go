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

// one expects exactly one winner, and that all others met what it wrote.
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
	t.Run("create", func(t *testing.T) {
		s := on(t, h)
		s.one(together(callers, func(i int) answer {
			r, ok, err := h.Store.Create(t.Context(), s.claim(owner(i)), now, nil)
			return answer{r, ok, err}
		}))
	})
	t.Run("create over an expired record", func(t *testing.T) {
		s := on(t, h)
		r := s.claim("alice")
		r.Lease, r.Expires = now.Add(-2*time.Hour), now.Add(-time.Hour)
		s.plant(r)
		s.one(together(callers, func(i int) answer {
			r, ok, err := h.Store.Create(t.Context(), s.claim(owner(i)), now, nil)
			return answer{r, ok, err}
		}))
	})
	t.Run("take over", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		won := s.one(together(callers, func(i int) answer {
			f, c, _ := takeOver(r, owner(i))
			r, ok, err := h.Store.Change(t.Context(), f, c)
			return answer{r, ok, err}
		}))
		if won.Attempt != 2 {
			t.Errorf("attempt %d; want 2", won.Attempt)
		}
	})
	t.Run("finish against take over", func(t *testing.T) { testRaceFinish(t, h) })
	t.Run("steps", func(t *testing.T) {
		const steps = 40
		s := on(t, h)
		r := s.claimed("alice")
		for i, a := range together(steps, func(i int) answer {
			r, ok, err := h.Store.Change(t.Context(), fenceOf(r), step(fmt.Sprint(i), owner(i)))
			return answer{r, ok, err}
		}) {
			if a.err != nil || !a.ok {
				t.Fatalf("step %d: ok %v, error %v", i, a.ok, a.err)
			}
			r = withStep(r, fmt.Sprint(i), owner(i))
		}
		s.stored(r)
	})
	t.Run("extend", func(t *testing.T) {
		// Of heartbeats that overtake each other, the latest lease remains.
		const heartbeats = 40
		s := on(t, h)
		r := s.claimed("alice")
		for i, a := range together(heartbeats, func(i int) answer {
			c := driver.Change{Lease: r.Lease.Add(time.Duration(i+1) * time.Second)}
			r, ok, err := h.Store.Change(t.Context(), fenceOf(r), c)
			return answer{r, ok, err}
		}) {
			if a.err != nil {
				t.Fatalf("heartbeat %d: %v", i, a.err)
			}
		}
		r.Lease = r.Lease.Add(heartbeats * time.Second)
		s.stored(r)
	})
	t.Run("refund", func(t *testing.T) {
		s := on(t, h)
		r := s.claimed("alice")
		s.winner(together(callers, func(int) answer {
			r, ok, err := h.Store.Change(t.Context(), fenceOf(r), release(driver.ReleaseRefund))
			return answer{r, ok, err}
		}))
		s.stored(afterRelease(r, driver.ReleaseRefund))
	})
}

// testRaceFinish lets an owner finish late while others take over: either one
// of them becomes the owner, or all of them meet the result.
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
			got, ok, err := h.Store.Change(t.Context(), f, c)
			return answer{got, ok, err}
		}))
		if got := s.get(); got.Status == driver.Completed && got.Owner != "alice" {
			t.Errorf("finished by another: %s", show(got))
		}
	}
}
