package crashmatrix

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

const (
	// timeout is the timeout of an invocation. It bounds the lease of a crashed
	// one, for which its retry waits.
	timeout = 3 * time.Second
	// skew is the default clock skew of the library.
	skew = time.Second
	// backoff is the time between two attempts of a caller.
	backoff = 250 * time.Millisecond
	// takes is the number of times that a disturbed run is repeated.
	takes = 5
	// patience is the time after which a call counts as never answered.
	patience = time.Minute
)

// result is the result of one run.
type result struct {
	point
	effects
	retries int
	calls   []lambdaruntime.Call
	// disturbed is an error that neither the kill nor its lease explains.
	disturbed error
}

// play runs a mode that is killed at p. A busy machine adds timeouts, which are
// crashes at other points, and repeated calls. Such a run counts only against a
// promise that holds wherever the crash is.
func (s *stage) play(ctx context.Context, m mode, p point) (r result, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
	for range takes {
		r, err = s.take(ctx, m, p)
		if err != nil || r.disturbed == nil || r.wrong != "" && !m.depends {
			return r, err
		}
	}
	return r, fmt.Errorf("disturbed %d times; last error: %w", takes, r.disturbed)
}

// take makes the caller repeat its request until it is answered, twice.
func (s *stage) take(ctx context.Context, m mode, p point) (r result, err error) {
	r = result{point: p}
	w, err := m.world(ctx, s)
	if err != nil {
		return r, err
	}
	if w.close != nil {
		defer func() { err = errors.Join(err, w.close()) }()
	}
	wire := lambdaruntime.NewWire()
	function, err := s.deploy(ctx, m, w, wire)
	if err != nil {
		return r, errors.Join(err, wire.Close())
	}
	defer func() { err = errors.Join(err, function.Close(), wire.Close()) }()
	if m.first.at != 0 {
		if err := w.lapse(ctx, m.first, function, wire); err != nil {
			return r, fmt.Errorf("the first crash: %w", err)
		}
	}
	before := len(wire.Calls())
	wire.KillAt(before+p.call.Number, p.at)

	c := &caller{world: w, function: function}
	answer, err := c.ask(ctx)
	if err != nil {
		return r, err
	}
	r.retries, r.calls = c.retries, numbered(wire.Calls()[before:])
	again, err := c.ask(ctx)
	if err != nil {
		return r, fmt.Errorf("repeated: %w", err)
	}
	if r.effects, err = w.count(ctx, p); err != nil {
		return r, err
	}
	r.wrong = cmp.Or(r.wrong, c.wrong)
	if !bytes.Equal(answer.Payload, again.Payload) && r.wrong == "" {
		r.wrong = fmt.Sprintf("first answered %s, then %s", answer.Payload, again.Payload)
	}
	r.disturbed = errors.Join(c.disturbed, p.struck(wire, before))
	return r, nil
}

// lapse kills a first process, and waits until its lease lapses. An earlier retry
// would add calls.
func (w *world) lapse(ctx context.Context, first point, function *lambdaruntime.Runtime, wire *lambdaruntime.Wire) error {
	wire.KillAt(first.call.Number, first.at)
	if _, err := function.Invoke(ctx, w.event); !crashed(err) {
		return fmt.Errorf("it survived: %w", err)
	}
	if err := first.struck(wire, 0); err != nil {
		return err
	}
	// The lease ends a skew after the invocation, and has lapsed a skew after
	// that.
	lapsed := time.NewTimer(timeout + 2*skew + backoff)
	defer lapsed.Stop()
	select {
	case <-lapsed.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// numbered numbers calls again, from 1.
func numbered(calls []lambdaruntime.Call) []lambdaruntime.Call {
	for i := range calls {
		calls[i].Number = i + 1
	}
	return calls
}

// struck returns an error unless the run was killed at p.
func (p point) struck(wire *lambdaruntime.Wire, before int) error {
	if p.at == 0 {
		return nil
	}
	call, _ := wire.Struck()
	call.Number -= before
	if call != p.call {
		return fmt.Errorf("killed at %+v, which should be %s %+v", call, p.at, p.call)
	}
	return nil
}

// deploy starts the function behind a wire to all of its servers.
func (s *stage) deploy(ctx context.Context, m mode, w *world, wire *lambdaruntime.Wire) (*lambdaruntime.Runtime, error) {
	env := append(s.server.Env(), w.env...)
	for _, to := range w.servers {
		url, err := wire.To(to.name, to.url)
		if err != nil {
			return nil, err
		}
		env = append(env, to.variable+"="+url) // the last entry wins
	}
	return lambdaruntime.Start(ctx, lambdaruntime.Function{
		Name: m.example, Binary: s.binaries[m.example], Env: env, Wire: wire, Timeout: timeout, InitTimeout: patience,
	})
}
