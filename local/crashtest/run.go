package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// TB is the part of testing.TB that [Run] uses.
type TB interface {
	Context() context.Context
	Errorf(format string, args ...any)
	Helper()
	Logf(format string, args ...any)
}

// Run is like [Play]. It logs the report, and fails the test with the first points
// where the check failed.
func Run(t TB, f Function, event func(ctx context.Context, run string) ([]byte, error), check func(ctx context.Context, run string) error) {
	t.Helper()
	report, err := Play(t.Context(), f, event, check)
	if len(report.Results) > 0 {
		t.Logf("%v", report)
		err = errors.Join(err, report.Err())
	}
	if err != nil {
		t.Errorf("%v", err)
	}
}

// Play disturbs a compiled function at every network call that it makes.
//
// It first runs the function undisturbed, to record its calls to f.Servers and to the
// Lambda Runtime API. It then runs it twice for each of these calls. The process is
// killed (SIGKILL) before it sends the call, or after the server has answered and
// before the process knows. As a trigger would, Play delivers the event to new
// processes until one returns a final answer, every quarter of a second. It then
// delivers the event once more, as a duplicate, and calls check.
//
// It runs the function three more times for each call to a server. The process is frozen
// before the call or after it, and continues when another one has returned a final
// answer: past its lease, as on AWS. Or the connection is cut when the server has
// answered. Two last runs deliver the event to three processes at once, and, when an
// answer is final, an event with other numbers: see Function.AnyPayload.
//
// The function event prepares a run and returns its event, which is JSON. Each run has
// a name of its own, of letters, digits and a hyphen. Use it in every key, so that
// runs share nothing. The function check returns an error if the effects of the run
// are wrong. Both are called by many goroutines at once.
//
// The error is nil if the function was played. [Report.Err] says whether the check
// passed. A [*SetupError] reports a function that cannot be played, such as one
// that never calls one of its servers. The calls must come in the same order in each
// undisturbed run: calls are compared by server and operation, or by method and path.
// Parts of a path that are long or have a digit count as equal, unless they are a
// version such as v1.
func Play(ctx context.Context, f Function, event func(ctx context.Context, run string) ([]byte, error), check func(ctx context.Context, run string) error) (r Report, err error) {
	began := time.Now()
	f, err = f.withDefaults()
	if err != nil {
		return r, err
	}
	if event == nil || check == nil {
		return r, refuse("event and check are required")
	}
	r.Name = f.name()
	if f.Binary == "" {
		if f.Binary, err = lambdaruntime.Build(ctx, ".", f.Package); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(f.Binary))) }()
	}
	defer func() { r.Took = time.Since(began) }()

	scene := f.scene(r.Name, event, check)
	calm, err := scene.Learn(ctx)
	if errors.Is(err, kill.ErrNotFinal) {
		err = fmt.Errorf("%w\nif this answer is final for its trigger, say so with Function.Final", err)
	}
	if err != nil {
		return r, fmt.Errorf("crashtest: undisturbed: %w", err)
	}
	r.Results = []Result{resultOf(calm)}
	if calm.Broken != nil {
		return r, nil // crashes would show nothing more
	}
	if err := f.uncalled(calm.Calls); err != nil {
		return r, err
	}
	points := kill.Kills(calm.Calls, false)
	for _, run := range scene.PlayAll(ctx, append(points, kill.Faults(calm)...)) {
		r.Results = append(r.Results, resultOf(run))
	}
	return r, nil
}

// uncalled returns an error if the function never calls one of its servers. It
// probably reads a different variable, and calls a server that is not watched.
func (f Function) uncalled(calls []lambdaruntime.Call) error {
	for _, s := range f.Servers {
		if !slices.ContainsFunc(calls, func(c lambdaruntime.Call) bool { return c.Server == s.Name }) {
			return refuse("the function made no call to %s: does it read %s?", s.Name, s.Variable)
		}
	}
	return nil
}

func resultOf(run kill.Run) Result {
	r := Result{Number: run.Call.Number, Retries: run.Retries, Broken: run.Broken, Err: run.Err}
	if run.Err == nil {
		r.Answer = summary(run.Answer)
	}
	switch {
	case run.Fate >= kill.Lost:
		r.Crash = AnswerLost + Crash(run.Fate-kill.Lost)
	case run.At != 0:
		r.Crash = KilledBefore + 2*Crash(run.Fate) + Crash(run.At-lambdaruntime.Before)
	}
	if run.At != 0 {
		r.Call = run.Call.Server + " " + run.Call.Operation
	}
	return r
}
