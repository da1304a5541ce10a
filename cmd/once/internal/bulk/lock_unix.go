//go:build darwin || linux

package bulk

import (
	"os"
	"syscall"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

// lock keeps a second run away from a journal. It ends with the process: a lock file would
// outlive a run that is killed.
func lock(file *os.File) error {
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return cli.Endf(cli.CodeUsage, "a run that has not ended writes the journal %s: %w", file.Name(), err)
	}
	return nil
}
