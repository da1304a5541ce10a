package crashmatrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lambda-once/once/local/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
)

const (
	// timeout is the timeout of an invocation. It bounds the lease of a crashed
	// one, for which its retry waits.
	timeout = 3 * time.Second
	// skew is the default clock skew of the library.
	skew = time.Second
)

// result is the result of one run.
type result struct {
	point
	effects
	retries int
	calls   []lambdaruntime.Call
}

// play runs a mode that is killed at p.
func (s *stage) play(ctx context.Context, m mode, p point) (result, error) {
	var e effects
	scene := s.scene(m, p, &e)
	run, err := scene.Play(ctx, p.kill())
	return resultOf(p, e, run), err
}

// learn runs a mode undisturbed.
func (s *stage) learn(ctx context.Context, m mode) (result, error) {
	var e effects
	scene := s.scene(m, point{}, &e)
	run, err := scene.Learn(ctx)
	return resultOf(point{}, e, run), err
}

func resultOf(p point, e effects, run kill.Run) result {
	if run.Broken != nil {
		e.wrong = run.Broken.Error()
	}
	return result{point: p, effects: e, retries: run.Retries, calls: run.Calls}
}

// scene is a mode for one point. Its last run writes its effects to e.
func (s *stage) scene(m mode, p point, e *effects) *kill.Scene {
	return &kill.Scene{
		Function: lambdaruntime.Function{Name: m.example, Binary: s.binaries[m.example], Env: s.server.Env(), Timeout: timeout},
		World: func(ctx context.Context) (*kill.World, error) {
			w, err := m.world(ctx, s)
			if err != nil {
				return nil, err
			}
			return w.play(p, e), nil
		},
		First: m.first.kill(),
		// The lease ends a skew after the invocation, and has lapsed a skew
		// after that.
		Lapse:   timeout + 2*skew + kill.Backoff,
		Depends: m.depends,
		Slots:   s.slots,

		Patience: kill.Patience,
	}
}

// play is the world for a run that is killed at p.
func (w *world) play(p point, e *effects) *kill.World {
	of := &kill.World{
		Servers: w.servers, Env: w.env, Event: w.event, Final: w.final, Close: w.close,
		// Retries are refused until the lease lapses.
		Expected: func(r lambdaruntime.Response) bool {
			return r.FunctionError != nil && r.FunctionError.Type == "InProgressError"
		},
		Check: func(ctx context.Context) (broken, err error) {
			*e, err = w.count(ctx, p)
			return wrong(e.wrong), err
		},
		Same: func(first, later lambdaruntime.Response) error {
			if bytes.Equal(first.Payload, later.Payload) {
				return nil
			}
			return fmt.Errorf("first answered %s, then %s", first.Payload, later.Payload)
		},
	}
	if w.glance != nil {
		of.Glance = func(ctx context.Context) (broken, err error) {
			text, err := w.glance(ctx)
			return wrong(text), err
		}
	}
	return of
}

func wrong(how string) error {
	if how == "" {
		return nil
	}
	return errors.New(how)
}
