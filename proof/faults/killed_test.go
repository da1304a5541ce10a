package faults

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// kill kills the process during its call.
func (s *scene) kill(r *lambdaruntime.Runtime, c *call) {
	s.Helper()
	check.Must(s, r.Environment(0).Kill())
	<-c.done
	if _, ok := errors.AsType[*lambdaruntime.CrashedError](c.err); !ok {
		s.Fatalf("got %s, %v, want a crash", c.res.Payload, c.err)
	}
}

// leaseEnd reads the end of the lease in the record.
func (s *scene) leaseEnd() time.Time {
	s.Helper()
	n, ok := s.record()["in_progress_expiration"].(*types.AttributeValueMemberN)
	if !ok {
		s.Fatalf("no lease in %v", s.record())
	}
	ms, err := strconv.ParseInt(n.Value, 10, 64)
	check.Must(s, err)
	return time.UnixMilli(ms)
}

// limits are all that can keep a call from running, and that here do not.
var limits = []string{"-provider-memory=1h", "-refuse-late", "-resume"}

func TestKilledWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, afterEffect := range map[string]bool{
		"before the effect": false, "after the effect": true, "before the effect, with all limits": false, "after the effect, with all limits": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, args := newScene(t), []string{"-lease=10m"}
			if strings.HasSuffix(name, "limits") {
				args = append(args, limits...)
			}
			r := s.deploy(lambdaruntime.Function{}, args...)
			c, first := s.play(r, "ok")
			// After a crash between an effect and its record, the effect is
			// repeated, as docs/guarantees.md says.
			want := 1
			if afterEffect {
				first.effect()
				want = 2
			}
			s.kill(r, c)

			s.refused(s.ask(r), "InProgressError")
			s.lapse()

			c, second := s.play(r, "ok")
			if second.Attempt != 2 || second.PID == first.PID {
				t.Errorf("attempt %d in process %d took over from %d", second.Attempt, second.PID, first.PID)
			}
			second.effect()
			second.finish()
			s.resulted(s.answer(c), second)
			s.resulted(s.ask(r), second)
			s.happened(want)
		})
	}
}

func TestNeverRunAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.deploy(lambdaruntime.Function{}, append(limits, "-lease=10m", "-max-attempts=1")...)
	c, first := s.play(r, "ok")
	first.effect()
	s.kill(r, c)

	s.refused(s.ask(r), "InProgressError")
	s.lapse()
	for range 3 {
		s.refused(s.ask(r), "OutcomeUnknownError")
	}
	s.happened(1)
}

// A panic ends the process after the record was released.
func TestPanicReleases(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.deploy(lambdaruntime.Function{}, "-lease=1m")
	c, first := s.play(r, "panic")
	first.finish()
	s.refused(s.answer(c), "string") // aws-lambda-go reports the panic's type
	c, second := s.play(r, "ok")
	if second.PID == first.PID || second.Attempt != 1 {
		t.Errorf("attempt %d in process %d after a panic in %d", second.Attempt, second.PID, first.PID)
	}
	second.effect()
	second.finish()
	s.resulted(s.answer(c), second)
	s.happened(1)
}
