package faults

import (
	"testing"

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
