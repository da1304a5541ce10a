package faults

import (
	"net/http"
	"testing"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// A delayed heartbeat must not extend the lease of a record that its owner has
// finished, nor restore a released one.
func TestDelayedHeartbeatChangesNothing(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"ok", "permanent", "error"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			w := newNetwork(t)
			r := s.deploy(lambdaruntime.Function{}, "-lease=3s", "-endpoint="+w.url)
			c, a := s.play(r, end)
			heartbeat := w.delayNext()
			heartbeat.await(t)
			a.effect()
			a.finish()
			s.answer(c)
			before := s.scan(s.records)
			heartbeat.refused(t)
			s.sameItems(s.scan(s.records), before)
			s.happened(1)
		})
	}
}

// An owner that was frozen past its lease keeps the record if nobody has taken it
// over: a takeover while its handler runs would repeat the work.
func TestThawedOwnerExtendsItsLease(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	w := newNetwork(t)
	r := s.deploy(lambdaruntime.Function{Name: "old"}, "-lease=3s", "-endpoint="+w.url)
	other := s.deploy(lambdaruntime.Function{Name: "other"}, "-lease=3s")
	c, a := s.play(r, "ok")
	if err := r.Environment(0).Freeze(); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(s.leaseEnd().Add(100 * time.Millisecond)))
	heartbeat := w.delayNext()
	if err := r.Environment(0).Thaw(); err != nil {
		t.Fatal(err)
	}
	heartbeat.await(t)
	close(heartbeat.release)
	if status := <-heartbeat.status; status != http.StatusOK {
		t.Errorf("the heartbeat has status %d, want 200", status)
	}
	s.refused(s.ask(other), "InProgressError")
	a.effect()
	a.finish()
	s.resulted(s.answer(c), a)
	s.happened(1)
}
