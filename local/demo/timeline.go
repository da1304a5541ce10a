package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// timeline prints what happens, with the time since its start. A timeline made by
// later is printed at once, so that concurrent scenes are printed one after the
// other.
type timeline struct {
	began time.Time

	mu     sync.Mutex
	out    io.Writer
	buffer *strings.Builder
}

func newTimeline(out io.Writer) *timeline { return &timeline{began: time.Now(), out: out} }

func (t *timeline) title(format string, args ...any) {
	t.line("\n%s\n", fmt.Sprintf(format, args...))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = time.Now()
}

func (t *timeline) note(format string, args ...any) {
	t.line("  %6.2fs  %s", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

func (t *timeline) line(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	to := t.out
	if t.buffer != nil {
		to = t.buffer
	}
	fmt.Fprintf(to, format+"\n", args...)
}

// Write prints the long steps that other packages report.
func (t *timeline) Write(p []byte) (int, error) {
	t.note("%s", strings.TrimSpace(string(p)))
	return len(p), nil
}

// later returns a timeline that is printed when its scene has finished.
func (t *timeline) later() *timeline {
	return &timeline{began: time.Now(), out: t.out, buffer: new(strings.Builder)}
}

func (t *timeline) print() {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprint(t.out, t.buffer.String())
}
