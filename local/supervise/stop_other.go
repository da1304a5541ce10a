//go:build unix && !linux

package supervise

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Stop stops the child's process group, and returns when the child has stopped: its
// threads stop some time after the signal. If the child has exited, Stop returns nil.
//
// It calls ps because waitid does not work beside os.Process.Wait on macOS
// (go.dev/issue/19314).
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("supervise: stop: %w", err)
	}
	for {
		out, err := exec.Command("/bin/ps", "-o", "state=", "-p", strconv.Itoa(p.Pid())).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil // no such process
		}
		if err != nil {
			return fmt.Errorf("supervise: stop: %w", err)
		}
		if state := strings.TrimSpace(string(out)); strings.HasPrefix(state, "T") || strings.HasPrefix(state, "Z") {
			return nil
		}
	}
}
