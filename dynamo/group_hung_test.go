package dynamo

import (
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo/internal/group"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// A hung request reaches DynamoDB before its callers send their calls again, or
// after all of them have returned. Every call runs once and returns its own result.
func TestHungSharedRequestHoldsNoCaller(t *testing.T) {
	for _, write := range []string{"claim", "completion", "release"} {
		for _, lands := range []string{"at once", "late", "never"} {
			t.Run(write+"/"+lands, func(t *testing.T) {
				// On a busy machine, each call may find that no other is about to write.
				const tries = 20
				for try := 1; !hangs(t, write, lands); try++ {
					if try == tries {
						t.Fatal("no request was shared")
					}
				}
			})
		}
	}
}

// hangs has the shared request of one of the writes of some calls hang, until all
// calls have returned. It reports false if they shared none.
func hangs(t *testing.T, write, lands string) bool {
	s, net := intercepted(t)
	s.limit(patient, func(l *group.Limits) { l.Patience, l.Hold = 100*time.Millisecond, 100*time.Millisecond })
	x, err := idempotent.New("op", s, nil)
	check.Must(t, err)
	begun, returned, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	shared := false
	runsOnce(t, s, x, net, firstTime(func(r *wire.Request) (_ *wire.Response, err error) {
		close(begun)
		defer close(ended)
		if lands == "at once" {
			_, err = r.Send()
		}
		<-returned
		if lands == "late" {
			_, err = r.Send()
		}
		return nil, errors.Join(wire.ErrCut, err)
	}), write, func() {
		close(returned)
		select {
		case <-begun:
			shared = true
			<-ended
		default:
		}
	})
	return shared
}
