package serving

import (
	"io"
	"sync"
)

// Tail stores the end of the output of a program, for errors. It is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

var _ io.Writer = (*Tail)(nil)

// Write appends p.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-16<<10):]
	return len(p), nil
}

// String returns the end of the output.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
