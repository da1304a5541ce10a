package lambdaruntime

import "time"

// clock is the time that an invocation has left. It can be paused.
type clock struct {
	left  time.Duration
	since time.Time // zero while paused
	timer *time.Timer
}

func newClock(d time.Duration) *clock {
	return &clock{left: d, since: time.Now(), timer: time.NewTimer(d)}
}

// expired returns a channel that receives when no time is left. It does not receive
// while the clock is paused.
func (c *clock) expired() <-chan time.Time { return c.timer.C }

func (c *clock) pause() {
	if c.since.IsZero() {
		return
	}
	c.timer.Stop()
	c.left -= time.Since(c.since)
	c.since = time.Time{}
}

// resume continues with the time that was left, but at least with grace.
func (c *clock) resume(grace time.Duration) {
	if !c.since.IsZero() {
		return
	}
	c.left = max(c.left, grace)
	c.since = time.Now()
	c.timer.Reset(c.left)
}
