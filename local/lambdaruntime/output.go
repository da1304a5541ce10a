package lambdaruntime

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// output splits the output of a process into lines, forwards them and stores the end.
type output struct {
	to io.Writer

	mu   sync.Mutex
	line []byte
	last []byte
	err  error
}

// maxOutput is the length from which a line is forwarded in parts, and the size of
// the stored end.
const maxOutput = 64 << 10

// Write never fails, because a full log must not block the process. flush returns the
// error.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = append(o.last, p...)
	o.last = o.last[max(0, len(o.last)-maxOutput):]
	o.line = append(o.line, p...)
	for {
		n := bytes.IndexByte(o.line, '\n') + 1
		if n == 0 && len(o.line) < maxOutput {
			return len(p), nil
		}
		if n == 0 {
			n = len(o.line)
		}
		o.write(o.line[:n])
		o.line = o.line[n:]
	}
}

func (o *output) write(line []byte) {
	if o.err == nil {
		_, o.err = o.to.Write(line)
	}
}

// flush forwards an incomplete last line, and returns the first error.
func (o *output) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.line) > 0 {
		o.write(o.line)
		o.line = nil
	}
	if o.err != nil {
		return fmt.Errorf("log: %w", o.err)
	}
	return nil
}

func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.last)
}

// prefixed writes whole lines of several environments to one writer.
type prefixed struct {
	mu     *sync.Mutex
	to     io.Writer
	prefix string
}

func (p prefixed) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	whole := append([]byte(p.prefix), bytes.TrimSuffix(line, []byte("\n"))...)
	if _, err := p.to.Write(append(whole, '\n')); err != nil {
		return 0, err
	}
	return len(line), nil
}
