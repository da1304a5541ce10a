// Package crew starts the workers, one process for each series, and asks them one
// after the other.
package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lambda-once/once/local/nodemodules"
	"github.com/lambda-once/once/proof/bench/internal/work"
)

// seriesVar names the series of a worker to the program that is started as one.
const seriesVar = "ONCE_BENCH_SERIES"

// IsWorker reports whether this process is to work, and not to measure.
func IsWorker() bool { return os.Getenv(seriesVar) != "" }

// Work is the whole life of a worker. It returns the exit code.
func Work() int {
	if err := work.Serve(context.Background(), os.Getenv(seriesVar), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

// A Crew has a worker for each series.
type Crew struct {
	workers map[string]*worker
	// Node is the version of Node, and NodeMissing why there is none.
	Node        string
	NodeMissing error
}

type worker struct {
	command *exec.Cmd
	in      io.WriteCloser
	jobs    *json.Encoder
	answers *json.Decoder
}

// Start starts the workers. Without Node or npm, the series in TypeScript is left out,
// and NodeMissing has the reason.
func Start(ctx context.Context, all []work.Series, typescript fs.FS, log io.Writer) (*Crew, error) {
	c := &Crew{workers: map[string]*worker{}}
	for _, s := range all {
		command, err := c.command(ctx, s, typescript, log)
		if err != nil {
			c.NodeMissing = err
			continue
		}
		// As in a Lambda function: leases end with invocations, and need no heartbeat.
		command.Env = append(os.Environ(), seriesVar+"="+s.Name, "AWS_LAMBDA_FUNCTION_NAME=bench", "NODE_NO_WARNINGS=1")
		if s.Procs > 0 {
			command.Env = append(command.Env, fmt.Sprintf("GOMAXPROCS=%d", s.Procs))
		}
		command.Stderr = log
		command.WaitDelay = 5 * time.Second
		if err := c.start(s.Name, command); err != nil {
			return nil, errors.Join(fmt.Errorf("worker %s: %w", s.Name, err), c.Stop())
		}
	}
	return c, nil
}

// command returns what runs a worker. An error is about Node.
func (c *Crew) command(ctx context.Context, s work.Series, typescript fs.FS, log io.Writer) (*exec.Cmd, error) {
	if !s.Node {
		program, err := os.Executable()
		if err != nil {
			program = os.Args[0]
		}
		return exec.CommandContext(ctx, program), nil
	}
	version, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return nil, err
	}
	dir, err := nodemodules.Install(ctx, "bench", typescript, log)
	if err != nil {
		return nil, err
	}
	c.Node = strings.TrimSpace(string(version))
	return exec.CommandContext(ctx, "node", "--expose-gc", filepath.Join(dir, "worker.mjs")), nil
}

func (c *Crew) start(series string, command *exec.Cmd) error {
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
	c.workers[series] = &worker{command, in, json.NewEncoder(in), json.NewDecoder(out)}
	return nil
}

// Has reports whether there is a worker for the series.
func (c *Crew) Has(series string) bool { return c.workers[series] != nil }

// Measure returns what the worker of a series measures. The others are idle.
func (c *Crew) Measure(series string, j work.Job) (work.Figures, error) {
	w := c.workers[series]
	if w == nil {
		return work.Figures{}, fmt.Errorf("no worker %s", series)
	}
	var a work.Answer
	err := w.jobs.Encode(j)
	if err == nil {
		err = w.answers.Decode(&a)
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil {
		return work.Figures{}, fmt.Errorf("%s, %s, %d callers: %w", series, j.Kind, j.Callers, err)
	}
	return a.Figures, nil
}

// Stop ends the workers, and waits for them.
func (c *Crew) Stop() error {
	var all error
	for series, w := range c.workers {
		if err := errors.Join(w.in.Close(), w.command.Wait()); err != nil {
			all = errors.Join(all, fmt.Errorf("worker %s: %w", series, err))
		}
	}
	return all
}
