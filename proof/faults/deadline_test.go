package faults

import (
	"testing"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// With the defaults, the lease lasts as long as the invocation, and no heartbeat
// runs. A zombie wakes after its own deadline, with no time left to notice.
func TestFrozenPastItsDeadline(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"ok", "permanent", "error"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			inTime(t, func() bool { return frozenPastItsDeadline(t, end) })
		})
	}
}

func frozenPastItsDeadline(t *testing.T, end string) bool {
	s := newScene(t)
	old := s.deploy(lambdaruntime.Function{Name: "old", Timeout: 6 * time.Second, Grace: patience})
	other := s.deploy(lambdaruntime.Function{Name: "other"})
	first, zombie := s.play(old, end)
	if err := old.Environment(0).Freeze(); err != nil {
		t.Fatal(err)
	}
	lease := s.leaseEnd()
	c, a := s.play(other, "ok")
	if !time.Now().After(lease) {
		t.Errorf("taken over %v before the end of the invocation", time.Until(lease))
	}
	a.effect()
	a.finish()
	answer := s.answer(c)
	s.resulted(answer, a)
	if err := old.Environment(0).Thaw(); err != nil {
		t.Fatal(err)
	}
	zombie.effect()
	zombie.finish()
	replayed := s.answer(first)
	if late(replayed, end) {
		return true
	}
	s.same(replayed, answer)
	s.same(s.ask(other), answer)
	s.happened(2)
	return false
}
