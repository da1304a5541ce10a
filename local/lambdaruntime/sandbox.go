package lambdaruntime

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/lambda-once/once/internal/supervise"
	"github.com/lambda-once/once/internal/wire"
)

// sandbox is one process of a function, from its start to its exit.
type sandbox struct {
	logStream string
	process   *supervise.Process
	api       *api
	output    *output
	// gone is closed when the process has exited and its port is closed.
	gone chan struct{}
	err  error // of closing; read after gone
}

// newSandbox starts a process and waits until it requests work. It fails after
// InitTimeout and when stop is closed.
func newSandbox(f Function, logStream string, log func(line []byte) error, stop <-chan struct{}) (*sandbox, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("lambdaruntime: %w", err)
	}
	s := &sandbox{logStream: logStream, output: &output{forward: log}, gone: make(chan struct{})}
	s.api = &api{arn: f.arn(), gone: s.gone, ready: make(chan struct{}), work: make(chan *invocation)}
	start, handler := supervise.Start, s.api.handler()
	if f.Wire != nil {
		start, handler = f.Wire.start, wire.Handler(handler, f.Wire.carry(RuntimeAPI))
	}
	s.process, err = start(supervise.Command{
		Path:   f.Binary,
		Args:   f.Args,
		Env:    f.environ(listener.Addr().String(), logStream),
		Dir:    filepath.Dir(f.Binary),
		Output: s.output,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lambdaruntime: %w", err), listener.Close())
	}
	server := &http.Server{Handler: handler}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	go func() {
		<-s.process.Done()
		s.err = errors.Join(s.output.flush(), server.Close())
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			s.err = errors.Join(s.err, err)
		}
		close(s.gone)
	}()

	timer := time.NewTimer(f.InitTimeout)
	defer timer.Stop()
	status := ""
	select {
	case <-s.api.ready:
		return s, nil
	case <-s.gone:
		status = s.process.State().String()
	case <-timer.C:
		status = fmt.Sprintf("timed out after %v", f.InitTimeout)
	case <-stop:
		return nil, errors.Join(ErrClosed, s.kill())
	}
	if err := s.kill(); err != nil {
		return nil, err
	}
	return nil, &InitError{Status: status, Reported: s.api.initErr.Load(), Output: string(s.output.last)}
}

func (s *sandbox) freeze() error { return s.process.Stop() }

func (s *sandbox) thaw() error { return s.process.Continue() }

// kill kills the process, and waits until it has exited and its port is closed.
func (s *sandbox) kill() error {
	err := s.process.Kill()
	<-s.gone
	if err := errors.Join(err, s.err); err != nil {
		return fmt.Errorf("lambdaruntime: %w", err)
	}
	return nil
}

func (s *sandbox) isGone() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// output splits the output of a process into lines, forwards them and stores the end.
// One goroutine writes it, and flush follows when the process has exited.
type output struct {
	forward func(line []byte) error

	line []byte
	last []byte
	err  error
}

// maxOutput is the length from which a line is forwarded in parts, and the size of
// the stored end.
const maxOutput = 64 << 10

// Write never fails, because a full log must not block the process. flush returns the
// error.
func (o *output) Write(p []byte) (int, error) {
	o.last = append(o.last, p...)
	o.last = o.last[max(0, len(o.last)-maxOutput):]
	o.line = append(o.line, p...)
	for {
		line, rest, whole := bytes.Cut(o.line, []byte("\n"))
		if !whole && len(line) < maxOutput {
			return len(p), nil
		}
		o.send(line)
		o.line = rest
	}
}

func (o *output) send(line []byte) {
	if o.err != nil {
		return
	}
	if err := o.forward(line); err != nil {
		o.err = fmt.Errorf("log: %w", err)
	}
}

// flush forwards an incomplete last line, and returns the first error.
func (o *output) flush() error {
	if len(o.line) > 0 {
		o.send(o.line)
	}
	return o.err
}
