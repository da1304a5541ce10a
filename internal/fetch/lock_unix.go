//go:build unix

package fetch

import (
	"errors"
	"os"
	"syscall"
)

// tryLock acquires the lock of a file, or reports false if a running process has it.
// A blocking lock would ignore the context.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
