package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Serve answers jobs, a line of JSON each, until in ends.
func Serve(ctx context.Context, series string, in io.Reader, out io.Writer) error {
	i := slices.IndexFunc(All, func(s Series) bool { return s.Name == series })
	if i < 0 || All[i].Node {
		return fmt.Errorf("no series %q", series)
	}
	c := newConnections()
	jobs, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j Job
		if err := jobs.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		f, err := All[i].measure(ctx, c, j)
		a := Answer{Figures: f}
		if err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

// measure does a job, and checks that the handlers ran as often as they should.
func (s Series) measure(ctx context.Context, c *connections, j Job) (Figures, error) {
	h := &handler{charge: chargeOf(j)}
	do, err := s.prepare(ctx, c, j, h)
	if err != nil {
		return Figures{}, fmt.Errorf("prepare: %w", err)
	}
	atATime := j.Callers
	if s.Queue.Ahead >= 0 && (j.Kind == Queue || j.Kind == Requeue || j.Kind == Stream || j.Kind == Restream) {
		atATime = j.Size
	}
	if err := s.open(ctx, c, j, atATime); err != nil {
		return Figures{}, fmt.Errorf("connect: %w", err)
	}
	h.runs.Store(0)
	f, err := timed(c, j, do)
	f.Runs = int(h.runs.Load())
	if h.release != nil {
		err = errors.Join(err, h.release())
	}
	want := 0
	if j.Kind.runs() {
		want = j.Calls
		if j.Kind == Queue || j.Kind == Stream {
			want *= j.Size
		}
	}
	if err == nil && f.Runs != want {
		err = fmt.Errorf("the handler ran %d times, want %d", f.Runs, want)
	}
	return f, err
}

// prepare returns what one call, or one batch, of a job is.
func (s Series) prepare(ctx context.Context, c *connections, j Job, h *handler) (func(i int) error, error) {
	switch j.Kind {
	case Queue, Requeue, Stream, Restream:
		return s.batches(ctx, c, j, h)
	case Memory:
		return inMemory(ctx, j, h)
	case Yardstick:
		return yardstick(j), nil
	case Steps:
		return s.steps(ctx, c, j, h)
	}
	call, err := s.caller(ctx, c, j, h)
	if err != nil {
		return nil, err
	}
	switch j.Kind {
	case First, Duplicate:
		return func(i int) error { return once(ctx, call, j, i) }, nil
	case Cached:
		for i := range j.Callers {
			if err := once(ctx, call, j, i); err != nil {
				return nil, err
			}
		}
		return func(i int) error { return once(ctx, call, j, i%j.Callers) }, nil
	case Conflict:
		if err := h.hold(j.Callers, func(i int) error { return once(ctx, call, j, i) }); err != nil {
			return nil, err
		}
		return func(i int) error {
			if err := once(ctx, call, j, i%j.Callers); !errors.Is(err, errRunning) {
				return fmt.Errorf("a conflict ends with %v", err)
			}
			return nil
		}, nil
	}
	return nil, fmt.Errorf("no kind %q", j.Kind)
}
