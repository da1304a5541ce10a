//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// User is a user and a group of the system.
type User = syscall.Credential

// errUnsupported says why this system cannot run a Command.
var errUnsupported error

// lead makes a command the leader of a process group of its own.
func lead(c *exec.Cmd, as *User) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
}

// kill treats an exited group as success. macOS returns EPERM for a group with only a
// zombie left.
func kill(group int, s syscall.Signal) error {
	err := syscall.Kill(-group, s)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return nil
	}
	return err
}

// Stop stops the child's process group, and returns when the child has stopped: its
// threads stop some time after the signal. If the child has exited, Stop returns nil.
func (p *Process) Stop() error {
	err := p.Signal(syscall.SIGSTOP)
	if err == nil {
		err = awaitStop(p.cmd.Process.Pid)
	}
	if err != nil {
		return fmt.Errorf("supervise: stop: %w", err)
	}
	return nil
}

// Continue continues a stopped group.
func (p *Process) Continue() error {
	if err := p.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("supervise: continue: %w", err)
	}
	return nil
}
