package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Terminal connects a command to its user: results go to out, all else to err.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
}

// IsTerminal reports whether f is a terminal, well enough to choose a layout.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Confirm asks for a yes, and returns an error without one. An interrupt ends the wait for
// it, but not the read, which ends with the process.
func (t Terminal) Confirm(ctx context.Context) error { return t.Ask(ctx, "nothing was written") }

// Ask asks as confirm does. so is what became of the command without a yes.
func (t Terminal) Ask(ctx context.Context, so string) error {
	fmt.Fprint(t.Err, "Go on? [y/N] ")
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(t.In).ReadString('\n') // an answer without its end is none
		answers <- strings.ToLower(answer)
	}()
	select {
	case answer := <-answers:
		if ctx.Err() == nil && strings.HasSuffix(answer, "\n") && slices.Contains([]string{"y", "yes"}, strings.TrimSpace(answer)) {
			return nil
		}
	case <-ctx.Done():
	}
	return Endf(CodeDeclined, "not confirmed; %s", so)
}
