// Command dynamodblocal runs another command against DynamoDB Local:
//
//	go run ./local/cmd/dynamodblocal -- go test ./...
//
// It finds or starts a server, as package dynamodblocal says, runs the command
// with the server in its environment, stops the server and exits as the
// command did. Signals are passed on. Without a command it prints the endpoint
// and runs until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/lambda-once/once/local/dynamodblocal"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "dynamodblocal:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)

	server, err := start(signals)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if len(args) == 0 {
		fmt.Println(server.Endpoint())
		fmt.Fprintln(os.Stderr, "for a program in another shell:")
		for _, entry := range server.Env() {
			fmt.Fprintln(os.Stderr, "export", entry)
		}
		<-signals
		return 0, nil
	}
	return command(args, server.Env(), signals)
}

// start gives up at the first signal: fetching can take minutes.
func start(signals <-chan os.Signal) (*dynamodblocal.Server, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	started := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			cancel(fmt.Errorf("%v", s))
		case <-started:
		}
	}()
	server, err := dynamodblocal.Start(ctx, &dynamodblocal.Options{Log: os.Stderr})
	close(started)
	<-done
	cancel(nil)
	return server, err
}

func command(args, env []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			// An interrupt typed at a terminal has reached the command
			// already. Once more does no harm to go test.
			if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return 1, err
			}
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return 0, err
			}
			if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil // as a shell says it
			}
			return exit.ExitCode(), nil
		}
	}
}
