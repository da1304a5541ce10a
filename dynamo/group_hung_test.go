package dynamo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo/internal/group"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A hung request reaches DynamoDB before its callers send their calls again, or
// after all of them have returned. Every call runs once and returns its own result.
func TestHungSharedRequestHoldsNoCaller(t *testing.T) {
	for _, write := range []string{"claim", "completion", "release"} {
		for _, lands := range []string{"at once", "late", "never"} {
			t.Run(write+"/"+lands, func(t *testing.T) {
				// On a busy machine, each call may find that no other is about to write.
				const tries = 20
				for try := 1; !hangs(t, fmt.Sprint(t.Name(), "/", try), write, lands); try++ {
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
func hangs(t *testing.T, name, write, lands string) bool {
	s, wire := intercepted(t)
	s.limit(patient, func(l *group.Limits) { l.Patience, l.Hold = 100*time.Millisecond, 100*time.Millisecond })
	x, err := idempotent.New("op", s, nil)
	check.Must(t, err)
	begun, returned, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	hung := firstTime(func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		close(begun)
		defer close(ended)
		if lands == "at once" {
			pass(body)
		}
		<-returned
		if lands == "late" {
			pass(body)
		}
		return nil, errCut
	})
	if write == "claim" {
		wire.on(opBatch, hung)
	}
	const n = 6
	var siblings countdown
	siblings.left.Store(n)
	limited, cancel := context.WithTimeout(t.Context(), time.Minute) // for a call that hangs all the same
	defer cancel()
	ctx := adapter.With(limited, adapter.Sibling(siblings.Arrive))
	key := func(i int) idempotent.Key { return idempotent.Key{Record: fmt.Sprintf("%s/%d", name, i)} }
	errBusy := errors.New("busy")
	var runs [n]atomic.Int64
	var calls, ran sync.WaitGroup
	ran.Add(n)
	var next sync.Once
	for i := range n {
		calls.Go(func() {
			got, err := idempotent.Do(ctx, x, key(i), func(context.Context) (int, error) {
				runs[i].Add(1)
				ran.Done()
				ran.Wait() // so that the next writes share a request, too
				next.Do(func() {
					siblings.left.Store(n)
					if write != "claim" {
						wire.on(opBatch, hung)
					}
				})
				if write == "release" {
					return 0, errBusy
				}
				return i, nil
			})
			if write == "release" && err != errBusy || write != "release" && (got != i || err != nil) {
				t.Errorf("call %d: %d, %v", i, got, err)
			}
		})
	}
	calls.Wait()
	select {
	case <-begun:
	default:
		return false
	}
	close(returned)
	<-ended
	want := int64(1)
	if write == "release" {
		want = 2
	}
	for i := range n {
		got, err := idempotent.Do(t.Context(), x, key(i), func(context.Context) (int, error) { runs[i].Add(1); return i, nil })
		check.Equal(t, got, i)
		check.Nil(t, err)
		check.Equal(t, runs[i].Load(), want)
		r := get(t, s, key(i).Record)
		check.Equal(t, r.Status, driver.Completed, i)
		check.Equal(t, r.Attempt, 1, i)
	}
	return true
}
