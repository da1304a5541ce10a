package idempotent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/canonical"
	"github.com/lambda-once/once/internal/check"
)

// In a frozen sandbox no timer runs: after the thaw only the wall clock knows
// that the lease has ended.
func TestClaimIsStaleWhenTheWallClockHasPassedItsLease(t *testing.T) {
	x := &Executor{config: (&Config{Lease: time.Minute}).withDefaults()}
	x.times.Lease, x.times.Reserve = time.Minute, time.Second
	c := &call{}
	c.x, c.hash = x, canonical.SHA256([]byte("key"))
	for left, stale := range map[time.Duration]bool{-time.Millisecond: true, time.Minute: false} {
		l := &lease{record: driver.Record{Lease: wall(time.Now()).Add(time.Second + left)}}
		h := &heartbeat{ctx: context.Background(), call: c, lease: l, until: l.record.Lease}
		check.Equal(t, errors.Is(h.stale(), ErrTimedOut), stale, left)
	}
}
