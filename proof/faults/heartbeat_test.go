package faults

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// leaseEnd reads the end of the lease in the record.
func (s *scene) leaseEnd() time.Time {
	s.Helper()
	items := s.scan(s.records)
	check.Equal(s, len(items), 1, "records")
	n, ok := items[0]["in_progress_expiration"].(*types.AttributeValueMemberN)
	if !ok {
		s.Fatalf("no lease in %v", items[0])
	}
	ms, err := strconv.ParseInt(n.Value, 10, 64)
	check.Must(s, err)
	return time.UnixMilli(ms)
}

// An owner that was frozen past its lease keeps the record if no attempt has taken it
// over: a takeover while its handler runs would repeat the work.
func TestThawedOwnerExtendsItsLease(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	w := newNetwork(t)
	r := s.deploy(lambdaruntime.Function{Name: "old"}, "-lease=3s", "-endpoint="+w.url)
	other := s.deploy(lambdaruntime.Function{Name: "other"}, "-lease=3s")
	c, a := s.play(r, "ok")
	check.Must(t, r.Environment(0).Freeze())
	<-time.After(time.Until(s.leaseEnd().Add(100 * time.Millisecond)))
	heartbeat := w.delayNext()
	check.Must(t, r.Environment(0).Thaw())
	heartbeat.await(t)
	close(heartbeat.release)
	check.Equal(t, <-heartbeat.status, http.StatusOK, "the heartbeat has status")
	s.refused(s.ask(other), "InProgressError")
	a.effect()
	a.finish()
	s.resulted(s.answer(c), a)
	s.happened(1)
}

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
	check.Must(t, old.Environment(0).Freeze())
	lease := s.leaseEnd()
	c, a := s.play(other, "ok")
	check.True(t, time.Now().After(lease), "taken over", time.Until(lease), "before the end of the lease")
	a.effect()
	a.finish()
	answer := s.answer(c)
	s.resulted(answer, a)
	check.Must(t, old.Environment(0).Thaw())
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
