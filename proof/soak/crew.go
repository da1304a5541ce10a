package soak

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lambda-once/once/local/serving"
	"github.com/lambda-once/once/local/supervise"
	"github.com/lambda-once/once/proof/soak/worker"
)

// role is that of one of the workers, each with settings of its own.
type role struct {
	name     string
	settings worker.Settings
	onLambda bool
	// mortal: it is killed now and then. Others are stopped past their leases, and
	// live long enough to show a leak.
	mortal bool
	// exposure is how many records of a batch a kill may repeat.
	exposure int
}

// startTimeout is the longest start of a process on a busy machine.
const startTimeout = 2 * time.Minute

// Of the workers that live and of those that are killed, one each has group commit. The
// first claims nothing ahead. The caches, one for each kind, are full within seconds, so
// that a leak does not look like a cache that fills.
var roles = []role{
	{name: "alone", exposure: 1, settings: worker.Settings{Concurrency: 1, Ahead: -1}},
	{name: "grouped", exposure: 4, settings: worker.Settings{Concurrency: 4, Group: 1, Wait: time.Second, CacheEntries: 50}},
	{name: "mortal", mortal: true, exposure: 1, settings: worker.Settings{Concurrency: 1, CacheEntries: 50}},
	{name: "mortal, grouped, on Lambda", mortal: true, exposure: 10, onLambda: true, settings: worker.Settings{
		Concurrency: 4, Group: 2, Unrecorded: 10, ReadFirst: true,
	}},
}

// member is a role and the process that has it now.
type member struct {
	role
	// gate is held for reading while a delivery begins, and for writing while none may.
	gate sync.RWMutex
	*process
}

// process is one life of a worker.
type process struct {
	*supervise.Process
	client *rpc.Client
	said   serving.Tail
	flight atomic.Int64 // deliveries under way
	killed atomic.Bool
}

// hire starts the workers.
func (s *stage) hire(ctx context.Context) error {
	for _, r := range roles {
		of := &r.settings
		of.Records, of.Effects, of.Endpoint, of.Direct = s.records, s.effects, s.weather.URL(), s.tables.Endpoint()
		m := &member{role: r}
		if err := m.start(ctx); err != nil {
			return err
		}
		s.crew = append(s.crew, m)
	}
	return nil
}

// dismiss ends the workers.
func (s *stage) dismiss() error {
	var errs []error
	for _, m := range s.crew {
		errs = append(errs, m.end())
	}
	return errors.Join(errs...)
}

// start starts the first process, or the next, and waits for its call.
func (m *member) start(ctx context.Context) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // the goroutine below may have closed it
	settings := m.settings
	settings.Test = l.Addr().String()
	env := []string{worker.SettingsVar + "=" + string(encode(settings))}
	if m.onLambda {
		env = append(env, "AWS_LAMBDA_FUNCTION_NAME=soak")
	}
	p := &process{}
	if p.Process, err = supervise.Start(supervise.Command{Path: binary, Env: env, Output: &p.said}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	go func() { // either ends the wait for the call
		select {
		case <-p.Done():
		case <-ctx.Done():
		}
		_ = l.Close()
	}()
	conn, err := l.Accept()
	if err != nil {
		return errors.Join(fmt.Errorf("soak: worker %q does not start: %w\n%s", m.name, err, &p.said), p.Kill())
	}
	p.client = rpc.NewClient(conn)
	m.process = p
	return nil
}

// enter begins a delivery, which is in flight from then on. It returns nil if the worker
// takes none.
func (m *member) enter() *process {
	if !m.gate.TryRLock() {
		return nil
	}
	defer m.gate.RUnlock()
	m.flight.Add(1)
	return m.process
}

// end kills the process. Its calls return an error.
func (p *process) end() error { return errors.Join(p.Kill(), p.client.Close()) }

// kill kills the process, and starts the next one. It returns how many deliveries
// were under way.
func (m *member) kill(ctx context.Context) (flight int, err error) {
	m.gate.Lock()
	defer m.gate.Unlock()
	m.killed.Store(true)
	flight = int(m.flight.Load())
	if err := m.end(); err != nil {
		return flight, err
	}
	return flight, m.start(ctx)
}

// freeze stops the process for a while. Nothing is sent to it meanwhile.
func (m *member) freeze(ctx context.Context, d time.Duration) error {
	m.gate.Lock()
	defer m.gate.Unlock()
	if err := m.Stop(); err != nil {
		return err
	}
	wait(ctx, d)
	return m.Continue()
}

// sample waits until the worker is idle, and measures it.
func (m *member) sample(ctx context.Context) (s worker.Sample, err error) {
	m.gate.Lock()
	defer m.gate.Unlock()
	for m.flight.Load() > 0 && ctx.Err() == nil {
		wait(ctx, 10*time.Millisecond)
	}
	err = m.client.Call("worker.Sample", 0, &s)
	return s, err
}

// wait returns early, and false, if the context ends.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
