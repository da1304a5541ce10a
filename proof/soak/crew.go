package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambda-once/once/local/serving"
	"github.com/lambda-once/once/local/supervise"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

// worker is a role and the process that has it now.
type worker struct {
	role
	binary string
	env    []string

	// busy is held for reading by deliveries and while the process is stopped. Who waits
	// for the lock keeps new deliveries away.
	busy    sync.RWMutex
	stopped atomic.Bool // or about to be: no delivery begins

	mu      sync.Mutex
	process *process
	flight  int // deliveries under way
}

// process is one life of a worker.
type process struct {
	*supervise.Process
	url    string
	client *http.Client
	output *output
	killed bool
}

// start starts the first process, or the next.
func (w *worker) start(ctx context.Context) error {
	o := &output{ready: make(chan string, 1)}
	child, err := supervise.Start(supervise.Command{Path: w.binary, Env: w.env, Output: o})
	if err != nil {
		return err
	}
	p := &process{Process: child, output: o, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case p.url = <-o.ready:
	case <-child.Done():
		return fmt.Errorf("soak: worker %q exits at once: %v\n%s", w.name, child.State(), o)
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("soak: worker %q does not start: %w\n%s", w.name, ctx.Err(), o), child.Kill())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.process = p
	return nil
}

// enter begins a delivery, if the worker takes one.
func (w *worker) enter() (*process, bool) {
	if w.stopped.Load() || !w.busy.TryRLock() {
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process == nil || w.process.killed {
		w.busy.RUnlock()
		return nil, false
	}
	w.flight++
	return w.process, true
}

func (w *worker) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flight--
	w.busy.RUnlock()
}

// deliver returns the report on a delivery, or killed if the process was killed
// with it.
func (w *worker) deliver(ctx context.Context, p *process, d job.Delivery) (r job.Report, killed bool, err error) {
	defer w.leave()
	body, err := json.Marshal(d)
	if err != nil {
		return r, false, err
	}
	err = p.exchange(ctx, http.MethodPost, "/deliver", body, &r)
	if err == nil {
		return r, false, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.killed {
		return r, true, nil
	}
	return r, false, fmt.Errorf("soak: worker %q: %w\n%s", w.name, err, p.output)
}

func (p *process) exchange(ctx context.Context, method, path string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.GetBody = nil // the transport must not send a delivery again
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}

// kill kills the process, and starts the next one. It returns how many deliveries
// were under way.
func (w *worker) kill(ctx context.Context) (flight int, err error) {
	w.mu.Lock()
	p := w.process
	p.killed, flight = true, w.flight
	w.mu.Unlock()
	if err := p.Kill(); err != nil {
		return flight, err
	}
	p.client.CloseIdleConnections()
	return flight, w.start(ctx)
}

// freeze stops the process for a while, unless it is being sampled. Nothing is sent to
// it meanwhile.
func (w *worker) freeze(ctx context.Context, d time.Duration) error {
	if !w.busy.TryRLock() {
		return nil
	}
	defer w.busy.RUnlock()
	w.stopped.Store(true)
	defer w.stopped.Store(false)
	if err := w.process.Stop(); err != nil {
		return err
	}
	wait(ctx, d)
	return w.process.Continue()
}

// sample waits until the worker is idle, and measures it.
func (w *worker) sample(ctx context.Context) (s job.Sample, err error) {
	w.busy.Lock()
	defer w.busy.Unlock()
	w.process.client.CloseIdleConnections()
	return s, w.process.exchange(ctx, http.MethodGet, "/sample", nil, &s)
}

// output stores the end of a worker's output, and sends the address in its first line.
type output struct {
	serving.Tail
	ready chan string
	once  sync.Once
}

const greeting = "listening on "

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Tail.Write(p)
	if _, line, ok := strings.Cut(o.String(), greeting); ok {
		if address, _, whole := strings.Cut(line, "\n"); whole {
			o.once.Do(func() { o.ready <- address })
		}
	}
	return n, err
}

// wait returns early if the context ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
