package lambdaruntime

import "time"

// clock is the time that an invocation has left. It can be held.
type clock struct {
	left  time.Duration
	since time.Time // zero while held
	timer *time.Timer
}

func newClock(d time.Duration) *clock {
	return &clock{left: d, since: time.Now(), timer: time.NewTimer(d)}
}

// expired is received from when no time is left. It is not while held.
func (c *clock) expired() <-chan time.Time { return c.timer.C }

func (c *clock) hold() {
	if c.since.IsZero() {
		return
	}
	c.timer.Stop()
	c.left -= time.Since(c.since)
	c.since = time.Time{}
}

// resume goes on with what was left, but no less than grace.
func (c *clock) resume(grace time.Duration) {
	if !c.since.IsZero() {
		return
	}
	c.left = max(c.left, grace)
	c.since = time.Now()
	c.timer.Reset(c.left)
}
