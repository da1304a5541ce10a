package idempotent

import (
	"context"
	"time"
)

// ran is the outcome of a call whose handler's end is recorded.
func (h *hold) ran() Outcome {
	switch {
	case h.open && !h.optimistic:
		return OutcomeBypassed
	case h.record.Used() > 1:
		return OutcomeTakeover
	default:
		return OutcomeExecuted
	}
}

const (
	shortestAttempt = 200 * time.Millisecond
	longestAttempt  = 5 * time.Second
)

// finishing gives the context of the writes that record a handler's end. It
// outlives the handler's: a client that has gone, or a lease that is over, is
// no reason to leave the work unrecorded. The time is up when the lease ends,
// or so long before the invocation does that its caller still hears of it; a
// nested call leaves the outer one's Reserve alone. It is always enough for a
// try.
func (c *call) finishing(ctx context.Context, h *hold) (context.Context, context.CancelFunc) {
	end, least := h.record.Lease, max(c.x.config.Reserve, shortestAttempt)
	switch {
	case h.open:
		end = time.Time{} // the caller chose to go on without the store
	case !h.invocation.IsZero():
		least = shortestAttempt
		if last := h.invocation.Add(-min(c.x.config.Reserve/5, shortestAttempt)); last.Before(end) {
			end = last
		}
		nested := insideOf(ctx) != nil
		if deadline, ok := ctx.Deadline(); nested && ok && deadline.Before(end) {
			end = deadline
		}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), max(end.Sub(wall(time.Now())), least))
}

// attemptTime bounds one of the tries within ctx, so that one connection that
// hangs does not take the time of all the others.
func attemptTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, _ := ctx.Deadline()
	half := min(time.Until(deadline)/2, longestAttempt)
	return context.WithTimeout(ctx, max(half, shortestAttempt))
}

// rest pauses for about d; a done context ends it, for the next call to the
// store to report.
func (c *call) rest(ctx context.Context, d time.Duration) { c.x.rest(ctx, d) }

func (x *Executor) rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(x.spread(d))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// backoff is the pause after a try that failed.
func backoff(try int) time.Duration {
	return min(time.Duration(try)*20*time.Millisecond, time.Second)
}
