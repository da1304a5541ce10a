//go:build unix && !linux

package supervise

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
)

// awaitStop calls ps because waitid does not work beside os.Process.Wait on macOS
// (go.dev/issue/19314).
func awaitStop(pid int) error {
	for {
		out, err := exec.Command("/bin/ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
		if _, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil // no such process
		}
		if err != nil {
			return err
		}
		if state := strings.TrimSpace(string(out)); strings.HasPrefix(state, "T") || strings.HasPrefix(state, "Z") {
			return nil
		}
	}
}
