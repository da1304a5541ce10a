package kill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

const (
	// Backoff is the time between two deliveries of an event.
	Backoff = 250 * time.Millisecond
	// Patience is the usual [Scene].Patience.
	Patience = time.Minute
	// takes is the number of times that a disturbed run is repeated.
	takes = 5
)

// A Scene is a function that is played with one world after the other.
type Scene struct {
	// Function is the function, without the Env of a world and without a Wire.
	Function lambdaruntime.Function
	// World creates the world of one run.
	World func(context.Context) (*World, error)
	// Expected reports whether a response that is not final is one that the crash
	// explains. Any other disturbs the run. Nil expects all.
	Expected func(lambdaruntime.Response) bool
	// Same compares the final response with that of a later duplicate. Nil allows
	// that they differ.
	Same func(first, later lambdaruntime.Response) (broken error)
	// First is the point at which a process is killed before the run, which then
	// begins when Lapse has passed. The zero value means none.
	First Point
	Lapse time.Duration
	// Depends means that the promises of Check depend on the point of the crash.
	Depends bool
	// Slots bounds how many runs there are at once: each fills one.
	Slots chan struct{}
	// Patience is the time after which an event counts as never answered.
	Patience time.Duration
	// Operation normalizes an operation before it is compared and reported, for
	// paths that contain the name of a run. Nil leaves them as they are.
	Operation func(string) string
}

// Learn runs the function undisturbed until two runs have made the same calls,
// because a busy machine may repeat one.
func (s *Scene) Learn(ctx context.Context) (r Run, err error) {
	var before []lambdaruntime.Call
	for range takes {
		before = r.Calls
		if r, err = s.Play(ctx, Point{}); err != nil || slices.Equal(before, r.Calls) {
			return r, err
		}
	}
	return r, fmt.Errorf("no two of %d runs made the same calls in the same order. The last two:\n%s\n%s", takes, listed(before), listed(r.Calls))
}

func listed(calls []lambdaruntime.Call) string {
	var all []string
	for _, c := range calls {
		all = append(all, c.Server+" "+c.Operation)
	}
	return strings.Join(all, ", ")
}

// Kills returns the points before and after each of the calls. With afterOnly it omits
// those before a call.
func Kills(calls []lambdaruntime.Call, afterOnly bool) (points []Point) {
	behind := ""
	for _, call := range calls {
		if !afterOnly {
			points = append(points, Point{Call: call, At: lambdaruntime.Before, Behind: behind})
		}
		points = append(points, Point{Call: call, At: lambdaruntime.After, Behind: behind})
		behind = call.Operation
	}
	return points
}

// Faults returns the points of all other fates. The calls to the Lambda Runtime API have
// none: on AWS, nothing comes between a process and it.
func Faults(calm Run) (points []Point) {
	for _, call := range calm.Calls {
		if call.Server != lambdaruntime.RuntimeAPI {
			points = append(points, Point{Call: call, At: lambdaruntime.Before, Fate: Frozen},
				Point{Call: call, At: lambdaruntime.After, Fate: Frozen}, Point{Call: call, At: lambdaruntime.After, Fate: Lost})
		}
	}
	points = append(points, Point{Fate: Doubled})
	if len(calm.Other) > 0 {
		points = append(points, Point{Fate: Changed})
	}
	return points
}

// PlayAll plays the points, all at once.
func (s *Scene) PlayAll(ctx context.Context, points []Point) []Run {
	runs := make([]Run, len(points))
	var group sync.WaitGroup
	for i, p := range points {
		group.Go(func() {
			run, err := s.Play(ctx, p)
			run.Point, run.Err = p, err
			runs[i] = run
		})
	}
	group.Wait()
	return runs
}

// Play runs the function, and disturbs it at p. A busy machine adds timeouts, which
// are crashes at other points, and repeated calls. Such a run counts only against
// an invariant that holds wherever the crash is.
func (s *Scene) Play(ctx context.Context, p Point) (r Run, err error) {
	select {
	case s.Slots <- struct{}{}:
		defer func() { <-s.Slots }()
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
	for range takes {
		r, err = s.take(ctx, p)
		if err != nil || r.disturbed == nil || r.Broken != nil && !s.Depends {
			return r, err
		}
	}
	return r, fmt.Errorf("disturbed %d times; last error: %w", takes, r.disturbed)
}

// take delivers the event until it is answered, twice.
func (s *Scene) take(ctx context.Context, p Point) (r Run, err error) {
	r.Point = p
	w, err := s.World(ctx)
	if err != nil {
		return r, err
	}
	r.Other = w.Other
	if w.Close != nil {
		defer func() { err = errors.Join(err, w.Close()) }()
	}
	wire := lambdaruntime.NewWire()
	function, err := Deploy(ctx, s.Function, w, wire)
	if err != nil {
		return r, errors.Join(err, wire.Close())
	}
	defer func() { err = errors.Join(err, function.Close(), wire.Close()) }()
	if s.First.At != 0 {
		if r.disturbed, err = s.lapse(ctx, w, function, wire); err != nil || r.disturbed != nil {
			return r, err
		}
	}
	before := len(wire.Calls())
	switch number := before + p.Call.Number; p.Fate {
	case Killed:
		wire.KillAt(number, p.At)
		r.Answer, err = s.ask(ctx, w, function, &r)
	case Lost:
		wire.CarryAt(number, lost)
		r.Answer, err = s.ask(ctx, w, function, &r)
	case Frozen:
		err = s.freeze(ctx, w, function, wire, number, &r)
	case Doubled:
		err = s.double(ctx, w, function, &r)
	case Changed:
		err = s.change(ctx, w, function, &r)
	}
	if err != nil {
		return r, err
	}
	retries := r.Retries
	r.Calls = s.named(wire.Calls()[before:])
	later, err := s.ask(ctx, w, function, &r)
	if err != nil {
		return r, fmt.Errorf("repeated: %w", err)
	}
	r.Retries = retries
	broken, err := w.Check(ctx, &r)
	if err != nil {
		return r, err
	}
	r.Broken = cmp.Or(broken, r.Broken)
	s.compare(&r, later)
	r.disturbed = errors.Join(r.disturbed, s.struck(p, wire, before))
	return r, nil
}

// lapse kills a first process, and waits until its lease lapses. An earlier retry
// would add calls. If the process did not reach s.First, or reached it on another
// way, the run is disturbed.
func (s *Scene) lapse(ctx context.Context, w *World, function *lambdaruntime.Runtime, wire *lambdaruntime.Wire) (disturbed, err error) {
	wire.KillAt(s.First.Call.Number, s.First.At)
	if _, err := function.Invoke(ctx, w.Event); !crashed(err) {
		return errors.Join(errors.New("the first process survived"), err), nil
	}
	if err := s.struck(s.First, wire, 0); err != nil {
		return err, nil
	}
	lapsed := time.NewTimer(s.Lapse)
	defer lapsed.Stop()
	select {
	case <-lapsed.C:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// named numbers calls again, from 1, and names their operations.
func (s *Scene) named(calls []lambdaruntime.Call) []lambdaruntime.Call {
	for i := range calls {
		calls[i].Number = i + 1
		if s.Operation != nil {
			calls[i].Operation = s.Operation(calls[i].Operation)
		}
	}
	return calls
}

// struck returns an error unless the run was disturbed at p.
func (s *Scene) struck(p Point, wire *lambdaruntime.Wire, before int) error {
	if p.At == 0 {
		return nil
	}
	call, _ := wire.Struck()
	number := call.Number - before
	call = s.named([]lambdaruntime.Call{call})[0]
	call.Number = number
	if call != p.Call {
		return fmt.Errorf("struck at %+v, which should be %s %+v", call, p.At, p.Call)
	}
	return nil
}

// Deploy starts a function behind a wire to all servers of a world.
func Deploy(ctx context.Context, f lambdaruntime.Function, w *World, wire *lambdaruntime.Wire) (*lambdaruntime.Runtime, error) {
	f.Wire, f.InitTimeout = wire, Patience
	f.Env = append(slices.Clone(f.Env), w.Env...)
	for _, to := range w.Servers {
		url, err := wire.To(to.Name, to.URL)
		if err != nil {
			return nil, err
		}
		f.Env = append(f.Env, to.Variable+"="+url) // the last entry wins
	}
	return lambdaruntime.Start(ctx, f)
}
