package lambdaruntime

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/internal/check"
)

func TestClock(t *testing.T) {
	for name, test := range map[string]struct {
		left, grace, want time.Duration
	}{
		"what was left":         {left: 2 * time.Second, grace: time.Second, want: 2 * time.Second},
		"no less than grace":    {left: time.Second, grace: time.Minute, want: time.Minute},
		"grace at the very end": {left: 0, grace: time.Second, want: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock(3 * time.Second)
				time.Sleep(3*time.Second - test.left)
				c.pause()
				c.pause() // a second pause has no effect
				time.Sleep(time.Hour)
				select {
				case <-c.timer.C:
					t.Fatal("it ran while it was paused")
				default:
				}
				c.resume(test.grace)
				resumed := time.Now()
				c.resume(time.Hour) // it runs: no effect
				<-c.timer.C
				check.Equal(t, time.Since(resumed), test.want)
			})
		})
	}
}
