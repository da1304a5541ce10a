package supervise

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"
)

// Stop stops the child's process group, and returns when the child has stopped: its
// threads stop some time after the signal. If the child has exited, Stop returns nil.
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("supervise: stop: %w", err)
	}
	const pPid = 1
	for {
		var info [128]byte // siginfo_t
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPid, uintptr(p.Pid()),
			uintptr(unsafe.Pointer(&info)), syscall.WSTOPPED|syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		switch {
		case errno == 0, errors.Is(errno, syscall.ECHILD):
			return nil
		case errors.Is(errno, syscall.EINTR):
		default:
			return fmt.Errorf("supervise: waitid: %w", errno)
		}
	}
}
