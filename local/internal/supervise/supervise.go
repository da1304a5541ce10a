// Package supervise runs a child process that cannot outlive its parent, not
// even a parent that was killed with SIGKILL and could clean nothing up.
//
// Beside the child runs a watcher, a shell that blocks on a pipe whose other
// end only the parent holds. However the parent ends, the kernel closes the
// pipe and the watcher kills the child's process group. Linux could do this
// with a parent-death signal, macOS could not; and that signal follows the
// thread that forked, which a Go program does not control.
//
// Child and watcher have a process group each. The child's can thus be
// stopped without stopping the watcher, and an interrupt typed at a terminal
// reaches the parent alone, which then ends its children in its own order.
package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

const (
	// The gate keeps the program from starting before its watcher does: a
	// parent killed between the two would leave an orphan. An end of file
	// without a line means that the parent is gone.
	gate = `read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`
	// A line dismisses the watcher, an end of file sets it to work.
	watch = `read -r _ && exit 0; kill -s KILL -- "-$1"; shift; [ $# -eq 0 ] || exec "$@"`
)

// Command is the program to run.
type Command struct {
	// Path of the program, absolute.
	Path string
	Args []string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Dir is the working directory. Default: the parent's.
	Dir string
	// Output receives standard output and standard error, in the order in
	// which they were written. It must not fail. Default: discarded.
	Output io.Writer
	// Orphaned is a command, an absolute path and arguments, that the
	// watcher runs after killing the group. It is for what a signal does
	// not reach, such as a container.
	Orphaned []string
}

// Process is a supervised child.
type Process struct {
	cmd      *exec.Cmd
	watcher  *exec.Cmd
	lifeline *os.File
	done     chan struct{}

	mu     sync.Mutex
	reaped bool

	state *os.ProcessState
	err   error
}

// Start runs the command. The child leads a process group of its own.
func Start(c Command) (*Process, error) {
	if _, err := exec.LookPath(c.Path); err != nil {
		return nil, fmt.Errorf("supervise: %w", err)
	}
	gateR, gateW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("supervise: %w", err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("supervise: %w", err), gateR.Close(), gateW.Close())
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", gate, "sh", c.Path}, c.Args...)...)
	cmd.Env = append([]string{}, c.Env...) // never nil, which would mean: inherit
	cmd.Dir = c.Dir
	cmd.Stdout, cmd.Stderr = outW, outW
	cmd.ExtraFiles = []*os.File{gateR}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = errors.Join(cmd.Start(), gateR.Close(), outW.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("supervise: %w", err), gateW.Close(), outR.Close())
	}

	p := &Process{cmd: cmd, done: make(chan struct{})}
	if err := p.startWatcher(c.Orphaned); err != nil {
		// Closing the gate unopened ends the shell behind it.
		return nil, errors.Join(fmt.Errorf("supervise: %w", err), gateW.Close(), outR.Close(), cmd.Wait())
	}
	go p.wait(outR, c.Output)
	if _, err := io.WriteString(gateW, "go\n"); err != nil {
		return nil, errors.Join(fmt.Errorf("supervise: %w", err), gateW.Close(), p.Kill())
	}
	if err := gateW.Close(); err != nil {
		return nil, errors.Join(fmt.Errorf("supervise: %w", err), p.Kill())
	}
	return p, nil
}

func (p *Process) startWatcher(orphaned []string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	args := append([]string{"-c", watch, "sh", fmt.Sprint(p.cmd.Process.Pid)}, orphaned...)
	p.watcher = exec.Command("/bin/sh", args...)
	p.watcher.Stdin = r
	p.watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(p.watcher.Start(), r.Close()); err != nil {
		return errors.Join(err, w.Close())
	}
	p.lifeline = w
	return nil
}

func (p *Process) wait(out *os.File, to io.Writer) {
	defer close(p.done)
	if to == nil {
		to = io.Discard
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(to, out)
		copied <- err
	}()
	state, err := p.cmd.Process.Wait()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	p.state = state
	// Whatever the leader left running goes with it, and lets go of the pipe.
	_, dismissed := io.WriteString(p.lifeline, "done\n")
	p.err = errors.Join(err, kill(p.Pid(), syscall.SIGKILL), <-copied, out.Close(),
		dismissed, p.lifeline.Close(), p.watcher.Wait())
}

// Pid is the process id of the child, and the id of its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the child is gone and its output has been delivered.
func (p *Process) Done() <-chan struct{} { return p.done }

// State says how the child ended. It waits until it has.
func (p *Process) State() *os.ProcessState {
	<-p.done
	return p.state
}

// Signal sends a signal to the child's process group. It does nothing once
// the child is gone.
func (p *Process) Signal(s syscall.Signal) error {
	// The lock keeps a group id from being used after the system may have
	// given it to somebody else.
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return nil
	}
	return kill(p.Pid(), s)
}

// Kill kills the child's process group and waits until it is gone. A stopped
// group dies too. Killing what is gone is no error.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	<-p.done
	return errors.Join(err, p.err)
}

// kill treats a group that has gone as success. macOS answers EPERM for a
// group that has only a zombie left.
func kill(group int, s syscall.Signal) error {
	err := syscall.Kill(-group, s)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return nil
	}
	return err
}
