package serving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// Exec starts a server, runs args with its variables in their environment, and returns the
// exit code. It drops a leading "--", and forwards signals. Without args, it prints the
// server's address and waits for a signal.
func Exec[S Server](args []string, start Starter[S], address func(S) string) (code int, err error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	signals := make(chan os.Signal, 8)
	forwarded := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)

	// The first signal stops a start, because fetching can take minutes.
	ctx, stop := signal.NotifyContext(context.Background(), forwarded...)
	server, err := start(ctx, &Options{Log: os.Stderr, command: strings.Join(args, " ")})
	stop()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if len(args) == 0 {
		fmt.Println(address(server))
		fmt.Fprintln(os.Stderr, "for programs in other shells:")
		for _, entry := range server.Env() {
			fmt.Fprintln(os.Stderr, "export", entry)
		}
		<-signals
		return 0, nil
	}
	return command(args, server.Env(), signals)
}

func command(args, env []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			// An interrupt from a terminal has reached the command already. A
			// second one does not harm go test.
			if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return 1, err
			}
		case err := <-exited:
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return 0, err
			}
			if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil // as a shell reports it
			}
			return exit.ExitCode(), nil
		}
	}
}

// Tail stores the end of the output of a program, for errors. It is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Write appends p.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-16<<10):]
	return len(p), nil
}

// String returns the end of the output.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
