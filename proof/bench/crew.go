package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lambda-once/once/internal/nodemodules"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

// seriesVar names the series of a worker to the program that is started as one.
const seriesVar = "ONCE_BENCH_SERIES"

// A crew has a worker for each series, one process each. They are asked one after the
// other.
type crew map[string]*worker

type worker struct {
	*rpc.Client
	process *exec.Cmd
}

// startCrew starts the workers, and returns the version of Node. Without Node or npm, the
// series in TypeScript are left out, and the version is "".
func startCrew(ctx context.Context, log io.Writer) (_ crew, node string, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	c := crew{}
	for name, s := range work.All {
		command := exec.CommandContext(ctx, program)
		if s.Node {
			command, node, err = nodeWorker(ctx, log)
			if err != nil {
				if _, err := fmt.Fprintln(log, "without TypeScript:", err); err != nil {
					return nil, "", errors.Join(err, c.stop())
				}
				continue
			}
		}
		// As in a Lambda function: leases end with invocations, and need no heartbeat.
		command.Env = append(os.Environ(), seriesVar+"="+name, "AWS_LAMBDA_FUNCTION_NAME=bench", "NODE_NO_WARNINGS=1")
		if s.Procs > 0 {
			command.Env = append(command.Env, fmt.Sprintf("GOMAXPROCS=%d", s.Procs))
		}
		if err := c.start(name, command, log); err != nil {
			return nil, "", errors.Join(fmt.Errorf("worker %s: %w", name, err), c.stop())
		}
	}
	return c, node, nil
}

func nodeWorker(ctx context.Context, log io.Writer) (command *exec.Cmd, version string, err error) {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return nil, "", err
	}
	dir, err := nodemodules.Install(ctx, "bench", os.DirFS("typescript"), log)
	if err != nil {
		return nil, "", err
	}
	version = strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
	return exec.CommandContext(ctx, "node", "--expose-gc", filepath.Join(dir, "worker.mjs")), version, nil
}

func (c crew) start(name string, command *exec.Cmd, log io.Writer) error {
	command.Stderr, command.WaitDelay = log, 5*time.Second
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	client := jsonrpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	c[name] = &worker{client, command}
	return nil
}

// stop ends the workers, and waits for them.
func (c crew) stop() (err error) {
	for name, w := range c {
		if end := errors.Join(w.Close(), w.process.Wait()); end != nil {
			err = errors.Join(err, fmt.Errorf("worker %s: %w", name, end))
		}
	}
	return err
}
