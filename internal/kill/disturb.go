package kill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func lost(call *wire.Request) (*wire.Response, error) {
	_, err := call.Send()
	return nil, errors.Join(wire.ErrCut, err)
}

// freeze stops the process at a call. Another process is asked until its answer is final:
// when the lease of the frozen one has lapsed, it takes over. Then the frozen one
// continues, and its call with it. Its own answer must be the same, if it succeeds.
func (s *Scene) freeze(ctx context.Context, w *World, function *lambdaruntime.Runtime, net *lambdaruntime.Wire, number int, r *Run) (err error) {
	frozen, answered := make(chan struct{}), make(chan struct{})
	net.CarryAt(number, func(call *wire.Request) (res *wire.Response, err error) {
		if err := function.Environment(0).Freeze(); err != nil {
			return nil, err
		}
		if r.At == lambdaruntime.After {
			res, err = call.Send()
		}
		close(frozen)
		select {
		case <-answered:
		// A process that holds a lock in a database, which the other waits for,
		// continues before that has answered, and five seconds after its lease.
		case <-time.After(2*(s.Function.Timeout+Backoff) + 5*time.Second):
		}
		if r.At == lambdaruntime.Before {
			res, err = call.Send()
		}
		return res, errors.Join(err, function.Environment(0).Thaw())
	})
	over := make(chan Run, 1)
	go func() {
		answer, err := function.Invoke(ctx, w.Event)
		over <- Run{Answer: answer, Err: err}
	}()
	select {
	case <-frozen:
		err = s.beside(ctx, w, r)
	case late := <-over: // on a busy machine
		r.disturbed = errors.Join(errors.New("no process froze"), late.Err)
		r.Answer, err = s.ask(ctx, w, function, r)
		return err
	}
	close(answered)
	late := <-over
	r.disturbed = nil // a lock explains every timeout
	if err == nil && late.Err == nil && late.Answer.FunctionError == nil && w.Final(late.Answer) {
		s.compare(r, late.Answer)
	}
	return err
}

// double delivers the event to three processes at once. Their answers must be equal.
func (s *Scene) double(ctx context.Context, w *World, function *lambdaruntime.Runtime, r *Run) (err error) {
	var others [2]Run
	var group sync.WaitGroup
	for i := range others {
		group.Go(func() { others[i].Err = s.beside(ctx, w, &others[i]) })
	}
	r.Answer, err = s.ask(ctx, w, function, r)
	group.Wait()
	for _, other := range others {
		if err = errors.Join(err, other.Err); err == nil {
			s.compare(r, other.Answer)
		}
	}
	return err
}

// change delivers the other event, once, when an answer is final.
func (s *Scene) change(ctx context.Context, w *World, function *lambdaruntime.Runtime, r *Run) (err error) {
	if r.Answer, err = s.ask(ctx, w, function, r); err != nil {
		return err
	}
	other, err := function.Invoke(ctx, w.Other)
	if err == nil && other.FunctionError == nil && bytes.Equal(other.Payload, r.Answer.Payload) {
		r.Broken = fmt.Errorf("the changed event %.200s received the answer of the first: %.200s", w.Other, other.Payload)
	}
	return err
}

// beside delivers the event to a process of its own.
func (s *Scene) beside(ctx context.Context, w *World, r *Run) (err error) {
	net := lambdaruntime.NewWire()
	function, err := Deploy(ctx, s.Function, w, net)
	if err != nil {
		return errors.Join(err, net.Close())
	}
	defer func() { err = errors.Join(err, function.Close(), net.Close()) }()
	r.Answer, err = s.ask(ctx, w, function, r)
	return err
}

// compare compares another answer with that of the run, unless that is broken.
func (s *Scene) compare(r *Run, other lambdaruntime.Response) {
	if r.Broken == nil && s.Same != nil {
		r.Broken = s.Same(r.Answer, other)
	}
}
