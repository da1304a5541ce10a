package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// scene plays a till as Play does, without its defaults.
func scene(t *testing.T) *kill.Scene {
	t.Helper()
	_, url := newLedger(t)
	return &kill.Scene{
		Function: lambdaruntime.Function{Binary: till},
		World: func(context.Context) (*kill.World, error) {
			return &kill.World{
				Servers: []kill.Server{{Name: "provider", Variable: "PROVIDER_URL", URL: url}},
				Event:   []byte(`{"sale": "s-1"}`),
				Final:   func(r lambdaruntime.Response) bool { return r.FunctionError == nil },
				Check:   func(context.Context, *kill.Run) (broken, err error) { return nil, nil },
			}, nil
		},
		Slots: make(chan struct{}, 4), Patience: kill.Patience,
	}
}

// at is the second call of the function, or a call of another name.
func at(operation string) kill.Point {
	return kill.Point{
		Call: lambdaruntime.Call{Number: 2, Server: "provider", Operation: operation},
		At:   lambdaruntime.Before,
	}
}

func TestRunThatIsKilledElsewhereDoesNotCount(t *testing.T) {
	t.Parallel()
	_, err := scene(t).Play(t.Context(), at("POST /refunds/s-1"))
	if err == nil || !strings.HasPrefix(err.Error(), "disturbed 5 times; last error: struck at {Number:2 Server:provider Operation:POST /charges/s-1}") {
		t.Errorf("%v", err)
	}
}

// A busy machine may cut the first process off before it reaches its point.
func TestRunWhoseFirstProcessSurvivesIsRepeated(t *testing.T) {
	t.Parallel()
	s, worlds := scene(t), atomic.Int64{}
	world := s.World
	s.World = func(ctx context.Context) (*kill.World, error) { worlds.Add(1); return world(ctx) }
	s.First = at("POST /charges/s-1")
	s.First.Call.Number = 99
	_, err := s.Play(t.Context(), kill.Point{})
	check.Says(t, err, "the first process survived")
	check.Equal(t, worlds.Load(), 5, "times played")
}

// An invariant that holds wherever the crash is counts even then.
func TestBrokenInvariantOfADisturbedRun(t *testing.T) {
	t.Parallel()
	for _, depends := range []bool{false, true} {
		t.Run(fmt.Sprint("depends on the point: ", depends), func(t *testing.T) {
			t.Parallel()
			s, errBroken := scene(t), errors.New("charged twice")
			s.Depends = depends
			world := s.World
			s.World = func(ctx context.Context) (*kill.World, error) {
				w, err := world(ctx)
				w.Check = func(context.Context, *kill.Run) (broken, err error) { return errBroken, nil }
				return w, err
			}
			r, err := s.Play(t.Context(), at("POST /refunds/s-1"))
			check.Equal(t, err != nil, depends)
			check.Equal(t, r.Broken, errBroken)
		})
	}
}

func TestFunctionWhoseCallsVaryCannotBeLearned(t *testing.T) {
	t.Parallel()
	s, n := scene(t), atomic.Int64{}
	world := s.World
	s.World = func(ctx context.Context) (*kill.World, error) {
		w, err := world(ctx)
		w.Event = []byte(`{"sale": "` + strconv.FormatInt(n.Add(1), 10) + `"}`) // in the paths
		return w, err
	}
	_, err := s.Learn(t.Context())
	check.Says(t, err, "no two of 5 runs made the same calls")
	check.Equal(t, strings.Count(err.Error(), "lambda next, provider POST /"), 2, "the last two runs are listed")
	s.Operation = func(string) string { return "POST" }
	if r, err := s.Learn(t.Context()); err != nil || len(r.Calls) != 5 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A process that was frozen has a caller too, and so has each that runs at once.
func TestAnswersOfAllProcessesAreCompared(t *testing.T) {
	t.Parallel()
	for fate, want := range map[kill.Fate]int{kill.Killed: 1, kill.Lost: 1, kill.Frozen: 2, kill.Doubled: 3} {
		s, compared := scene(t), 0
		s.Same = func(first, later lambdaruntime.Response) error {
			compared++
			check.Equal(t, string(later.Payload), string(first.Payload))
			return nil
		}
		p := at("POST /charges/s-1")
		p.Fate = fate
		switch fate {
		case kill.Lost:
			p.At = lambdaruntime.After
		case kill.Doubled:
			p = kill.Point{Fate: fate}
		}
		_, err := s.Play(t.Context(), p)
		check.Nil(t, err)
		check.Equal(t, compared, want, fate)
	}
}
