package lambdaruntime

import "time"

// clock is the time that an invocation has left. It can be paused.
type clock struct {
	left  time.Duration
	since time.Time   // zero while paused
	timer *time.Timer // receives when no time is left
}

func newClock(d time.Duration) *clock {
	return &clock{left: d, since: time.Now(), timer: time.NewTimer(d)}
}

func (c *clock) paused() bool { return c.since.IsZero() }

func (c *clock) pause() {
	if c.paused() {
		return
	}
	c.timer.Stop()
	c.left -= time.Since(c.since)
	c.since = time.Time{}
}

// resume continues with the time that was left, but at least with grace.
func (c *clock) resume(grace time.Duration) {
	if !c.paused() {
		return
	}
	c.left = max(c.left, grace)
	c.since = time.Now()
	c.timer.Reset(c.left)
}
