package faults

import (
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestConcurrentStorm(t *testing.T) {
	t.Parallel()
	const callers, environments = 60, 4
	for name, args := range map[string][]string{
		"refused": {"-lease=1m"},
		"waiting": {"-lease=1m", "-wait=30s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			r := s.deploy(lambdaruntime.Function{Environments: environments}, args...)
			answers := make(chan *call, callers)
			for range callers {
				c := s.invoke(r, "ok", s.addr)
				go func() {
					<-c.done
					answers <- c
				}()
			}
			var a *actor
			select {
			case a = <-s.actors:
			case <-time.After(patience):
				t.Fatal("nobody runs")
			}
			conflicts := 0
			if name == "refused" {
				// Half of the storm meets the one that runs.
				for ; conflicts < callers/2; conflicts++ {
					s.refused(s.answer(<-answers), "InProgressError")
				}
			}
			a.effect()
			a.finish()
			var first []byte
			for range callers - conflicts {
				res := s.answer(<-answers)
				if name == "refused" && res.FunctionError != nil {
					s.refused(res, "InProgressError")
					continue
				}
				s.resulted(res, a)
				if first == nil {
					first = res.Payload
				}
				check.Equal(t, string(res.Payload), string(first))
			}
			if first == nil {
				t.Error("nobody got the result")
			}
			check.Equal(t, r.ColdStarts(), environments, "processes")
			s.happened(1)
		})
	}
}
