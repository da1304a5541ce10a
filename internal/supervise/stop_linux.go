package supervise

import (
	"errors"
	"syscall"
	"unsafe"
)

func awaitStop(pid int) error {
	const pPid = 1
	for {
		var info [128]byte // siginfo_t
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPid, uintptr(pid),
			uintptr(unsafe.Pointer(&info)), syscall.WSTOPPED|syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		switch {
		case errno == 0, errors.Is(errno, syscall.ECHILD):
			return nil
		case !errors.Is(errno, syscall.EINTR):
			return errno
		}
	}
}
