package faults

import (
	"net/http"
	"testing"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// A heartbeat that was overtaken by its own owner's end must not give a
// finished record a lease again, nor bring a released one back.
func TestHeartbeatAfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"ok", "permanent", "error"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			w := newWire(t)
			r := s.deploy(lambdaruntime.Function{}, "LEASE=3s", "AWS_ENDPOINT_URL_DYNAMODB="+w.url)
			c, a := s.play(r, end)
			beat := w.holdNext()
			beat.await(t)
			a.effect()
			a.end()
			s.answer(c)
			before := s.scan(s.records)
			beat.refused(t)
			s.sameItems(s.scan(s.records), before)
			s.happened(1)
		})
	}
}

// A pause that nobody else has used costs no lease: the handler still runs,
// and a retry in the meantime would do its work once more.
func TestThawedBeforeAnybodyElse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	w := newWire(t)
	r := s.deploy(lambdaruntime.Function{Name: "old"}, "LEASE=900ms", "AWS_ENDPOINT_URL_DYNAMODB="+w.url)
	other := s.deploy(lambdaruntime.Function{Name: "other"}, "LEASE=900ms")
	c, a := s.play(r, "ok")
	if err := r.Environment(0).Freeze(); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(s.leaseEnd()) + 100*time.Millisecond)
	beat := w.holdNext()
	if err := r.Environment(0).Thaw(); err != nil {
		t.Fatal(err)
	}
	beat.await(t)
	close(beat.release)
	if status := <-beat.status; status != http.StatusOK {
		t.Errorf("the heartbeat was answered with %d", status)
	}
	s.refused(s.ask(other), "InProgressError")
	a.effect()
	a.end()
	s.resulted(s.answer(c), a)
	s.happened(1)
}
