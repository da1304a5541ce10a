package idempotent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// trip is a saga that notes what it does.
type trip struct {
	done []string
	// fails maps what fails to its error.
	fails map[string]error
}

func (tr *trip) step(ctx context.Context, name string) error {
	_, err := idempotent.SagaStep(ctx, name,
		func(context.Context) (string, error) { return "a " + name, tr.do(name) },
		func(_ context.Context, booked string) error { return tr.do("not " + booked) })
	return err
}

func (tr *trip) do(what string) error {
	tr.done = append(tr.done, what)
	return tr.fails[what]
}

func (tr *trip) book(ctx context.Context) (string, error) {
	for _, name := range []string{"flight", "hotel", "car"} {
		if err := tr.step(ctx, name); err != nil {
			return "", err
		}
	}
	return "booked", tr.do("end")
}

type soldOutError struct{}

func (*soldOutError) Error() string { return "sold out" }

func soldOut() error { return idempotent.Permanent(&soldOutError{}) }

func checkDone(t *testing.T, tr *trip, want ...string) {
	t.Helper()
	check.Slice(t, tr.done, want)
	tr.done = nil
}

func TestSagaIsUndoneInReverse(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	tr := &trip{fails: map[string]error{"car": soldOut()}}
	failed := try(t.Context(), t, x, tr.book).soldOut().ended(idempotent.OutcomeFailed)
	check.True(t, failed.event.Permanent)
	checkDone(t, tr, "flight", "hotel", "car", "not a hotel", "not a flight")
	// Claim, two steps, the failure, two that are undone, the end.
	failed.roundTrips(7)
	replayed := check.As[*idempotent.ReplayedError](t, try(t.Context(), t, x, mustNotRun(t)).ended(idempotent.OutcomeReplayed).err)
	check.Deep(t, *replayed, idempotent.ReplayedError{Type: "soldOutError", Message: "sold out", Compensated: []string{"hotel", "flight"}})
}

// A saga that has begun to undo continues to undo, and never runs forward: also
// in a process in which the step that had failed would now succeed.
func TestSagaResumesUndoing(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, crashing(store), nil)
	tr := &trip{fails: map[string]error{"car": soldOut(), "not a flight": errCrash}}
	r := try(t.Context(), t, x, tr.book).is(errCrash).ended(idempotent.OutcomeReleased)
	check.Equal(t, check.As[*idempotent.CompensationError](t, r.err).Step, "flight")
	checkDone(t, tr, "flight", "hotel", "car", "not a hotel", "not a flight")
	steps := stored(t, store).Steps
	check.Equal(t, string(steps[":failure"]), `={"type":"soldOutError","message":"sold out","steps":["hotel","flight"]}`)
	_, ok := steps[":undo:hotel"]
	check.True(t, ok)

	tr.fails = nil
	r = try(t.Context(), t, x, tr.book).ended(idempotent.OutcomeFailed)
	check.Equal(t, check.As[*idempotent.ReplayedError](t, r.err).Type, "soldOutError")
	checkDone(t, tr, "not a flight")
	check.Equal(t, stored(t, store).Status, driver.Failed)
}

func TestSagaResumesWhateverTheHandlerReturns(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, crashing(store), nil)
	tr := &trip{fails: map[string]error{"car": soldOut(), "not a hotel": errCrash}}
	try(t.Context(), t, x, tr.book).is(idempotent.ErrCompensation)
	checkDone(t, tr, "flight", "hotel", "car", "not a hotel")
	// It ignores what its steps say, and claims to have succeeded.
	tr.fails = nil
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		for _, name := range []string{"flight", "hotel", "car"} {
			check.Equal(t, tr.step(ctx, name) != nil, name == "car")
		}
		return "booked", nil
	}).is(idempotent.ErrReplayed)
	checkDone(t, tr, "not a hotel", "not a flight")
}

// A handler that no longer reaches a step cannot undo it, and the call reports
// so.
func TestSagaThatNoLongerReachesItsStepsIsNotFinished(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, crashing(store), nil)
	tr := &trip{fails: map[string]error{"car": soldOut(), "not a hotel": errCrash}}
	try(t.Context(), t, x, tr.book).is(idempotent.ErrCompensation)
	try(t.Context(), t, x, returns("something else")).is(idempotent.ErrCompensation).is(idempotent.ErrStep)
	check.Equal(t, stored(t, store).Status, driver.InProgress)
}

func TestSagaNeedsStoredFailures(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{ReleasePermanent: true})
	tr := &trip{}
	try(t.Context(), t, x, tr.book).is(idempotent.ErrStep)
	checkDone(t, tr)
}

// An undo that fails uses the attempt up like any error. With MaxAttempts used
// up, nothing more is undone until an operator refunds an attempt.
func TestUndoingStopsWithTheLastAttempt(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{MaxAttempts: 1})
	tr := &trip{fails: map[string]error{"hotel": soldOut(), "not a flight": errCrash}}
	unfinished := check.As[*idempotent.CompensationError](t, try(t.Context(), t, x, tr.book).err)
	check.Equal(t, unfinished.Step, "flight")
	checkDone(t, tr, "flight", "hotel", "not a flight")
	delete(tr.fails, "not a flight")
	for range 2 {
		try(t.Context(), t, x, tr.book).is(idempotent.ErrOutcomeUnknown)
	}
	checkDone(t, tr)

	// What once release writes.
	record := stored(t, store)
	record.Refunds++
	check.Must(t, store.Put(record))
	_, _, err := do(t.Context(), x, tr.book)
	check.Failed(t, err, "with an attempt refunded")
	check.False(t, errors.Is(err, idempotent.ErrOutcomeUnknown))
	checkDone(t, tr, "not a flight")
	check.Equal(t, stored(t, store).Status, driver.Failed)
}

// A call that fails permanently before it reaches its finished steps is not
// stored as failed: the steps would stay done for ever.
func TestPermanentErrorBeforeFinishedStepsIsNotStored(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	tr := &trip{fails: map[string]error{"hotel": errCrash}}
	try(t.Context(), t, x, tr.book).fails(errCrash)
	_, _, err := do(t.Context(), x, failsWith(soldOut()))
	unreached := check.As[*idempotent.CompensationError](t, err)
	check.Equal(t, unreached.Step, "flight")
	check.Is(t, err, idempotent.ErrStep)
	r := stored(t, store)
	check.Equal(t, r.Status, driver.InProgress)
	check.Equal(t, string(r.Steps["flight"]), `~="a flight"`)
	// It is not undoing yet: one that reaches them may also go forward.
	tr.done, tr.fails = nil, nil
	try(t.Context(), t, x, tr.book).returned("booked")
	checkDone(t, tr, "hotel", "car", "end")
}

// Without a record no later attempt continues. This one undoes each step that it can.
func TestSagaWithoutClaimUndoesWhatItCan(t *testing.T) {
	for undo, stuck := range map[string]string{"": "", "not a hotel": "hotel"} {
		tr := &trip{fails: map[string]error{"car": soldOut(), undo: errCrash}}
		err := bypassed(t.Context(), t, memory.New(0), tr.book)
		if stuck == "" {
			result{t: t, err: err}.soldOut()
		} else {
			check.Equal(t, check.As[*idempotent.CompensationError](t, err).Step, stuck)
		}
		checkDone(t, tr, "flight", "hotel", "car", "not a hotel", "not a flight")
	}
}

func TestSagaRefusesStepsWithinSteps(t *testing.T) {
	inner := func(ctx context.Context) (string, error) {
		return idempotent.SagaStep(ctx, "inner", mustNotRun(t), func(context.Context, string) error { return nil })
	}
	try(t.Context(), t, newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
		return idempotent.Step(ctx, "outer", inner)
	}).is(idempotent.ErrStep)
}

// The caller learns why the call failed, also when there is no time to undo.
func TestCompensationErrorHasItsCauseWhenNothingIsUndone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := do(ctx, newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
		if _, err := idempotent.SagaStep(ctx, "charge", returns("x"), func(context.Context, string) error { return nil }); err != nil {
			return "", err
		}
		cancel()
		return "", soldOut()
	})
	unfinished := check.As[*idempotent.CompensationError](t, err)
	check.Is(t, err, context.Canceled)
	_, ok := unfinished.Cause.(*soldOutError)
	check.True(t, ok, unfinished.Cause)
	check.False(t, errors.Is(err, unfinished.Cause), "that is final, and this is not")
}

func TestFinishedSagaStepsAreCounted(t *testing.T) {
	check.Equal(t, adapter.FinishedSagaSteps(t.Context()), 0, "outside of a call")
	x := newExecutor(t, memory.New(0), nil)
	tr := &trip{fails: map[string]error{"car": errCrash}}
	for range 2 { // the second attempt reads the steps of the first
		try(t.Context(), t, x, func(ctx context.Context) (string, error) {
			check.Equal(t, adapter.FinishedSagaSteps(ctx), 0, "before the first")
			_, err := idempotent.Step(ctx, "cannot be undone", func(context.Context) (int, error) { return 0, nil })
			if err != nil {
				return "", err
			}
			value, err := tr.book(ctx)
			check.Equal(t, adapter.FinishedSagaSteps(ctx), 2, "after two, and one that failed")
			return value, err
		}).is(errCrash)
	}
}
