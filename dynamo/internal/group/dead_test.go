package group

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/internal/check"
)

// Nothing is answered: every caller leaves in its own time, is sent at most once
// at a time, once more alone, and leaves nothing behind.
func TestDeadNetworkKeepsNoCallerAndNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, limit = 1000, 2 * time.Second
		s := newServer(t, func(l *Limits) { l.Slots = 2 })
		var under, most, calls atomic.Int64
		s.queue.send = func(ctx context.Context, c []*Call[work, string]) {
			calls.Add(int64(len(c)))
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			<-ctx.Done()
		}
		for i := range callers {
			s.wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit+time.Duration(i)*time.Millisecond)
				defer cancel()
				sent := 0
				_, err := s.queue.Do(ctx, work(fmt.Sprintf("%d", i)), func() (int, <-chan struct{}) { return i % 3, nil }, func() string {
					sent++
					under.Add(1)
					defer under.Add(-1)
					<-ctx.Done()
					return ""
				})
				if err != nil && err != context.DeadlineExceeded {
					t.Error(err)
				}
				check.True(t, sent <= 1, sent, i)
				left, _ := ctx.Deadline()
				check.False(t, time.Now().After(left), i)
			})
		}
		s.idle()
		synctest.Wait()
		check.Equal(t, under.Load(), 0)
		check.True(t, calls.Load() <= callers, calls.Load())
		check.True(t, most.Load() <= callers/10, most.Load())
	})
}
