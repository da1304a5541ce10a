package kill

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// freeze stops the process at its call. Other processes are asked until an answer is
// final: when the lease of the frozen one has lapsed, they take over. Then it continues,
// and its call with it. Its own answer must be theirs, if it succeeds.
func (s *Scene) freeze(ctx context.Context, w *World, function *lambdaruntime.Runtime, wire *lambdaruntime.Wire, r *Run) (err error) {
	held, release := wire.HoldAt(r.Call.Number, r.At)
	defer release()
	var late lambdaruntime.Response
	var failed error
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		late, failed = function.Invoke(ctx, w.Event)
	}()
	select {
	case <-held:
	case <-gone: // a busy machine ended it, and struck reports that
		r.Answer, err = s.ask(ctx, w, function, r)
		return err
	}
	if err := function.Environment(0).Freeze(); err != nil {
		return err
	}
	var thawed error
	thaw := sync.OnceFunc(func() {
		release()
		thawed = function.Environment(0).Thaw()
	})
	// A process that holds a lock in a database, which the others wait for, continues
	// before they have answered.
	patience := time.AfterFunc(2*(s.Function.Timeout+Backoff)+lapse, thaw)
	defer patience.Stop()
	err = s.beside(ctx, w, func(other *lambdaruntime.Runtime) (err error) {
		r.Answer, err = s.ask(ctx, w, other, r)
		return err
	})
	thaw()
	<-gone
	r.disturbed = nil // a lock explains every timeout
	if err == nil && failed == nil && late.FunctionError == nil && w.Final(late) && s.Same != nil {
		r.Broken = cmp.Or(r.Broken, s.Same(r.Answer, late))
	}
	return errors.Join(err, thawed)
}

// lapse is more than the time between the end of an invocation and that of its lease.
const lapse = 5 * time.Second

// double delivers the event to several processes at once. Their answers must be equal.
func (s *Scene) double(ctx context.Context, w *World, function *lambdaruntime.Runtime, r *Run) error {
	const others = 2
	runs, errs := make([]Run, others), make([]error, others)
	var group sync.WaitGroup
	for i := range others {
		group.Go(func() {
			errs[i] = s.beside(ctx, w, func(other *lambdaruntime.Runtime) (err error) {
				runs[i].Answer, err = s.ask(ctx, w, other, &runs[i])
				return err
			})
		})
	}
	var err error
	r.Answer, err = s.ask(ctx, w, function, r)
	group.Wait()
	for _, other := range runs {
		if s.Same != nil && err == nil && errors.Join(errs...) == nil {
			r.Broken = cmp.Or(r.Broken, s.Same(r.Answer, other.Answer))
		}
	}
	return errors.Join(append(errs, err)...)
}

// change delivers the other event, once, when an answer is final.
func (s *Scene) change(ctx context.Context, w *World, function *lambdaruntime.Runtime, r *Run) (err error) {
	if r.Answer, err = s.ask(ctx, w, function, r); err != nil || w.Other == nil {
		return err
	}
	other, err := function.Invoke(ctx, w.Other)
	if err == nil && other.FunctionError == nil && bytes.Equal(other.Payload, r.Answer.Payload) {
		r.Broken = fmt.Errorf("the changed event %.200s received the answer of the first: %.200s", w.Other, other.Payload)
	}
	return err
}

// beside runs play with a runtime of its own.
func (s *Scene) beside(ctx context.Context, w *World, play func(*lambdaruntime.Runtime) error) (err error) {
	wire := lambdaruntime.NewWire()
	function, err := s.deploy(ctx, w, wire)
	if err != nil {
		return errors.Join(err, wire.Close())
	}
	defer func() { err = errors.Join(err, function.Close(), wire.Close()) }()
	return play(function)
}
