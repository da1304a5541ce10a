package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// timeline prints what happens, with the time since it began. A timeline made
// by later is printed at once, when it is told: scenes that run side by side
// are read one after the other.
type timeline struct {
	began time.Time

	mu   sync.Mutex
	out  io.Writer
	held *strings.Builder
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
	if t.held != nil {
		to = t.held
	}
	fmt.Fprintf(to, format+"\n", args...)
}

// Write makes notes of the long steps that others report.
func (t *timeline) Write(p []byte) (int, error) {
	t.note("%s", strings.TrimSpace(string(p)))
	return len(p), nil
}

// later is a timeline of its own, printed when its scene is over.
func (t *timeline) later() *timeline {
	return &timeline{began: time.Now(), out: t.out, held: new(strings.Builder)}
}

func (t *timeline) print() {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprint(t.out, t.held.String())
}
