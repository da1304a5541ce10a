// Package supervise runs a child process that cannot outlive its parent, even if the
// parent is killed by SIGKILL and cannot clean up.
//
// A watcher runs beside the child. It is a shell that blocks on a pipe whose other end
// only the parent has. However the parent exits, the kernel closes the pipe, and the
// watcher kills the child's process group. A parent-death signal would work only on
// Linux, and depends on the thread that forked, which a Go program does not control.
//
// Child and watcher have a process group each. The child can therefore be stopped
// without stopping the watcher. An interrupt from a terminal reaches only the parent,
// which then stops its children in its own order.
package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

const (
	// The gate delays the program until its watcher has started: a parent killed
	// between the two would leave an orphan. An end of file without a line means
	// that the parent has exited.
	gate = `read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`
	// A line stops the watcher. An end of file makes it kill the group.
	watch = `read -r _ && exit 0; kill -s KILL -- "-$1"; shift; [ $# -eq 0 ] || exec "$@"`
)

// A Command is a program to run.
type Command struct {
	// Path is the absolute path of the program, or its name on PATH.
	Path string
	Args []string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Dir is the working directory. Default: the parent's.
	Dir string
	// User is the user that the child runs as. Default: the parent's user.
	User *User
	// Output receives standard output and standard error, in the order in
	// which they were written. It must not fail. Default: discarded.
	Output io.Writer
	// Orphaned is a command, an absolute path and arguments, that the watcher
	// runs after killing the group. It stops servers that no signal reaches,
	// such as a container.
	Orphaned []string
}

// A Process is a supervised child.
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
	if errUnsupported != nil {
		return nil, fmt.Errorf("supervise: %w", errUnsupported)
	}
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
	lead(cmd, c.User)
	err = errors.Join(cmd.Start(), gateR.Close(), outW.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("supervise: %w", err), gateW.Close(), outR.Close())
	}

	p := &Process{cmd: cmd, done: make(chan struct{})}
	if err := p.startWatcher(c.Orphaned); err != nil {
		// Closing the gate unopened makes the shell behind it exit.
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
	lead(p.watcher, nil)
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
	// Kill the remaining processes of the group, which closes the pipe.
	_, dismissed := io.WriteString(p.lifeline, "done\n")
	p.err = errors.Join(err, kill(p.cmd.Process.Pid, syscall.SIGKILL), <-copied, out.Close(),
		dismissed, p.lifeline.Close(), p.watcher.Wait())
}

// Done returns a channel that is closed when the child has exited and its output has
// been delivered.
func (p *Process) Done() <-chan struct{} { return p.done }

// State waits until the child has exited, and returns its state.
func (p *Process) State() *os.ProcessState {
	<-p.done
	return p.state
}

// Signal sends a signal to the child's process group. It does nothing if the child has
// exited.
func (p *Process) Signal(s syscall.Signal) error {
	// The lock prevents the use of a group ID that the system may have reused.
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return nil
	}
	return kill(p.cmd.Process.Pid, s)
}

// Kill kills the child's process group, also a stopped one, and waits until it has
// exited. Killing an exited group is not an error.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	<-p.done
	return errors.Join(err, p.err)
}

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
