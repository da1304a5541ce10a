package lambdaruntime

import (
	"bytes"
	"fmt"
)

// output splits the output of a process into lines, forwards them and stores the end.
// One goroutine writes it, and flush follows when the process has exited.
type output struct {
	forward func(line []byte) error

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
	o.last = append(o.last, p...)
	o.last = o.last[max(0, len(o.last)-maxOutput):]
	o.line = append(o.line, p...)
	for {
		line, rest, whole := bytes.Cut(o.line, []byte("\n"))
		if !whole && len(line) < maxOutput {
			return len(p), nil
		}
		o.send(line)
		o.line = rest
	}
}

func (o *output) send(line []byte) {
	if o.err != nil {
		return
	}
	if err := o.forward(line); err != nil {
		o.err = fmt.Errorf("log: %w", err)
	}
}

// flush forwards an incomplete last line, and returns the first error.
func (o *output) flush() error {
	if len(o.line) > 0 {
		o.send(o.line)
	}
	return o.err
}
