package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// timeline prints events, with the time since its start.
type timeline struct {
	began time.Time
	out   io.Writer
}

func newTimeline(out io.Writer) *timeline { return &timeline{began: time.Now(), out: out} }

func (t *timeline) title(format string, args ...any) {
	t.line("\n%s\n", fmt.Sprintf(format, args...))
	t.began = time.Now()
}

func (t *timeline) note(format string, args ...any) {
	t.line("  %6.2fs  %s", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

func (t *timeline) line(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// Write prints the long steps that other packages report.
func (t *timeline) Write(p []byte) (int, error) {
	t.note("%s", strings.TrimSpace(string(p)))
	return len(p), nil
}
