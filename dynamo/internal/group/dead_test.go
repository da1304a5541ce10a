package group

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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
		began := time.Now()
		for i := range callers {
			s.wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit+time.Duration(i)*time.Millisecond)
				defer cancel()
				sent := 0
				_, err := s.queue.Do(ctx, work(fmt.Sprintf("%d", i)), func() int { return i % 3 }, func() string {
					sent++
					under.Add(1)
					defer under.Add(-1)
					<-ctx.Done()
					return ""
				})
				if err != nil && err != context.DeadlineExceeded {
					t.Error(err)
				}
				if sent > 1 {
					t.Errorf("caller %d was sent alone %d times", i, sent)
				}
				if left, _ := ctx.Deadline(); time.Now().After(left) {
					t.Errorf("caller %d stayed for %s", i, time.Since(began))
				}
			})
		}
		s.idle()
		synctest.Wait()
		if under.Load() != 0 || calls.Load() > callers || most.Load() > callers/10 {
			t.Errorf("%d requests are left; %d shared ones at once, with %d calls", under.Load(), most.Load(), calls.Load())
		}
	})
}
