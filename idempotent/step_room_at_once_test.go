package idempotent_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// The write of the largest step lands last.
func TestStepsAtTheSameTimeLeaveRoomForUndoing(t *testing.T) {
	for _, size := range []int{380_000, 394_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, c, large := memory.New(0), charges{refuseAt: -1}, &largeSaga{size: size}
				p := limited(t, store)
				change, free := p.change, make(chan struct{})
				p.change = func(ctx context.Context, f driver.Fence, ch driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
					if _, is := ch.Steps["charge"]; is {
						<-free
					}
					return change(ctx, f, ch, next)
				}
				_, _, err := do(t.Context(), newExecutor(t, p, &idempotent.Config{Lease: time.Hour}), func(ctx context.Context) (string, error) {
					var all sync.WaitGroup
					all.Go(func() { _, _ = large.run(ctx) })
					synctest.Wait()
					all.Go(func() { _ = c.run(ctx, 30, 240) })
					synctest.Wait()
					close(free)
					all.Wait()
					return "", soldOut()
				})
				if r := stored(t, store); err == nil || c.done != c.undone || large.undone != 1 || r.Status != driver.Failed {
					t.Errorf("%d done, %d and %d undone, %s: %.200v", c.done, c.undone, large.undone, r.Status, err)
				}
			})
		})
	}
}
