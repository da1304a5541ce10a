package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Run runs a command to its end, and returns its output. An error of the command
// contains the output. The end of the context kills the command.
func Run(ctx context.Context, c Command) (output string, err error) {
	var out bytes.Buffer
	c.Output = &out
	p, err := Start(c)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = p.Signal(syscall.SIGKILL) })() // State tells
	state := p.State()
	if err := p.Kill(); err != nil {
		return "", err
	}
	if !state.Success() {
		said := strings.Join(strings.Fields(out.String()), " ")
		return "", errors.Join(fmt.Errorf("%s: %v: %s", c.Path, state, said), ctx.Err())
	}
	return out.String(), nil
}
