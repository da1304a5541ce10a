package idempotent_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
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
	if !slices.Equal(tr.done, want) {
		t.Errorf("done: %q, want %q", tr.done, want)
	}
	tr.done = nil
}

func TestSagaIsUndoneInReverse(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	tr := &trip{fails: map[string]error{"car": soldOut()}}
	_, event, err := do(t.Context(), x, tr.book)
	if _, ok := err.(*soldOutError); !ok || event.Outcome != idempotent.OutcomeFailed || !event.Permanent {
		t.Fatalf("%v, %+v", err, event)
	}
	checkDone(t, tr, "flight", "hotel", "car", "not a hotel", "not a flight")
	// Claim, two steps, the failure, two that are undone, the end.
	if event.RoundTrips != 7 {
		t.Errorf("%d round trips", event.RoundTrips)
	}
	_, event, err = do(t.Context(), x, mustNotRun(t))
	var replayed *idempotent.ReplayedError
	if !errors.As(err, &replayed) || event.Outcome != idempotent.OutcomeReplayed ||
		!reflect.DeepEqual(*replayed, idempotent.ReplayedError{Type: "soldOutError", Message: "sold out", Compensated: []string{"hotel", "flight"}}) {
		t.Errorf("%#v, %+v", err, event)
	}
}

func TestSagaThatSucceedsUndoesNothing(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	tr := &trip{}
	if value, _, err := do(t.Context(), x, tr.book); err != nil || value != "booked" {
		t.Fatal(value, err)
	}
	checkDone(t, tr, "flight", "hotel", "car", "end")
}

func TestSagaContinuesAfterATemporaryError(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	tr := &trip{fails: map[string]error{"hotel": errCrash}}
	if _, _, err := do(t.Context(), x, tr.book); err != errCrash {
		t.Fatal(err)
	}
	checkDone(t, tr, "flight", "hotel")
	tr.fails = nil
	if value, _, err := do(t.Context(), x, tr.book); err != nil || value != "booked" {
		t.Fatal(value, err)
	}
	checkDone(t, tr, "hotel", "car", "end")
}

// A permanent error of the handler itself undoes all steps, also after the
// last.
func TestSagaUndoesWhatTheHandlerRefuses(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	tr := &trip{fails: map[string]error{"end": soldOut()}}
	if _, _, err := do(t.Context(), x, tr.book); err == nil {
		t.Fatal("no error")
	}
	checkDone(t, tr, "flight", "hotel", "car", "end", "not a car", "not a hotel", "not a flight")
}

// A saga that has begun to undo continues to undo, and never runs forward: also
// in a process in which the step that had failed would now succeed.
func TestSagaResumesUndoing(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, crashing(store), nil)
	tr := &trip{fails: map[string]error{"car": soldOut(), "not a flight": errCrash}}
	_, event, err := do(t.Context(), x, tr.book)
	var unfinished *idempotent.CompensationError
	if !errors.As(err, &unfinished) || unfinished.Step != "flight" || !errors.Is(err, errCrash) || event.Outcome != idempotent.OutcomeReleased {
		t.Fatalf("%v, %+v", err, event)
	}
	checkDone(t, tr, "flight", "hotel", "car", "not a hotel", "not a flight")
	steps := stored(t, store).Steps
	if got := string(steps[":failure"]); got != `={"type":"soldOutError","message":"sold out","steps":["hotel","flight"]}` {
		t.Errorf("stored: %s", got)
	}
	if _, ok := steps[":undo:hotel"]; !ok {
		t.Errorf("stored: %q", steps)
	}

	tr.fails = nil
	_, event, err = do(t.Context(), x, tr.book)
	var replayed *idempotent.ReplayedError
	if !errors.As(err, &replayed) || replayed.Type != "soldOutError" || event.Outcome != idempotent.OutcomeFailed {
		t.Fatalf("%v, %+v", err, event)
	}
	checkDone(t, tr, "not a flight")
	if r := stored(t, store); r.Status != driver.Failed {
		t.Errorf("%+v", r)
	}
}

func TestSagaResumesWhateverTheHandlerReturns(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, crashing(store), nil)
	tr := &trip{fails: map[string]error{"car": soldOut(), "not a hotel": errCrash}}
	if _, _, err := do(t.Context(), x, tr.book); !errors.Is(err, idempotent.ErrCompensation) {
		t.Fatal(err)
	}
	checkDone(t, tr, "flight", "hotel", "car", "not a hotel")
	// It ignores what its steps say, and claims to have succeeded.
	tr.fails = nil
	_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
		for _, name := range []string{"flight", "hotel", "car"} {
			if err := tr.step(ctx, name); (err != nil) != (name == "car") {
				t.Errorf("%s: %v", name, err)
			}
		}
		return "booked", nil
	})
	if !errors.Is(err, idempotent.ErrReplayed) {
		t.Fatal(err)
	}
	checkDone(t, tr, "not a hotel", "not a flight")
}

// A caller that takes ErrReplayed for final must not receive it for what is not
// undone.
func TestSagaThatIsNotUndoneIsNotFinal(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	tr := &trip{fails: map[string]error{"car": soldOut(), "not a hotel": errCrash}}
	for range 3 {
		_, event, err := do(t.Context(), x, tr.book)
		if !errors.Is(err, idempotent.ErrCompensation) || errors.Is(err, idempotent.ErrReplayed) || event.Permanent {
			t.Errorf("%v, %+v", err, event)
		}
	}
}

// A handler that no longer reaches a step cannot undo it, and the call reports
// so.
func TestSagaThatNoLongerReachesItsStepsIsNotFinished(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, crashing(store), nil)
	tr := &trip{fails: map[string]error{"car": soldOut(), "not a hotel": errCrash}}
	if _, _, err := do(t.Context(), x, tr.book); !errors.Is(err, idempotent.ErrCompensation) {
		t.Fatal(err)
	}
	_, _, err := do(t.Context(), x, returns("something else"))
	if !errors.Is(err, idempotent.ErrCompensation) || !errors.Is(err, idempotent.ErrStep) {
		t.Error(err)
	}
	if r := stored(t, store); r.Status != driver.InProgress {
		t.Errorf("%+v", r)
	}
}

func TestSagaWithoutClaimIsUndoneToo(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	tr := &trip{fails: map[string]error{"car": soldOut()}}
	_, err := idempotent.Do(t.Context(), x, idempotent.Key{}, tr.book)
	if _, ok := err.(*soldOutError); !ok {
		t.Error(err)
	}
	checkDone(t, tr, "flight", "hotel", "car", "not a hotel", "not a flight")
}

func TestSagaNeedsStoredFailures(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{ReleasePermanent: true})
	tr := &trip{}
	if _, _, err := do(t.Context(), x, tr.book); !errors.Is(err, idempotent.ErrStep) {
		t.Error(err)
	}
	checkDone(t, tr)
}

// An undo that fails uses the attempt up like any error. With MaxAttempts used
// up, nothing more is undone until an operator refunds an attempt.
func TestUndoingStopsWithTheLastAttempt(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, &idempotent.Config{MaxAttempts: 1})
	tr := &trip{fails: map[string]error{"hotel": soldOut(), "not a flight": errCrash}}
	var unfinished *idempotent.CompensationError
	if _, _, err := do(t.Context(), x, tr.book); !errors.As(err, &unfinished) || unfinished.Step != "flight" {
		t.Fatal(err)
	}
	checkDone(t, tr, "flight", "hotel", "not a flight")
	delete(tr.fails, "not a flight")
	for range 2 {
		if _, _, err := do(t.Context(), x, tr.book); !errors.Is(err, idempotent.ErrOutcomeUnknown) {
			t.Errorf("without an attempt: %v", err)
		}
	}
	checkDone(t, tr)

	// What once release writes.
	record := stored(t, store)
	record.Refunds++
	if err := store.Put(record); err != nil {
		t.Fatal(err)
	}
	if _, _, err := do(t.Context(), x, tr.book); err == nil || errors.Is(err, idempotent.ErrOutcomeUnknown) {
		t.Errorf("with an attempt refunded: %v", err)
	}
	checkDone(t, tr, "not a flight")
	if r := stored(t, store); r.Status != driver.Failed {
		t.Errorf("%+v", r)
	}
}

// A call that fails permanently before it reaches its finished steps is not
// stored as failed: the steps would stay done for ever.
func TestPermanentErrorBeforeFinishedStepsIsNotStored(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	tr := &trip{fails: map[string]error{"hotel": errCrash}}
	if _, _, err := do(t.Context(), x, tr.book); err != errCrash {
		t.Fatal(err)
	}
	_, _, err := do(t.Context(), x, failsWith(soldOut()))
	var unreached *idempotent.CompensationError
	if !errors.As(err, &unreached) || unreached.Step != "flight" || !errors.Is(err, idempotent.ErrStep) {
		t.Errorf("%v", err)
	}
	if r := stored(t, store); r.Status != driver.InProgress || string(r.Steps["flight"]) != `~="a flight"` {
		t.Errorf("%+v", r)
	}
	// It is not undoing yet: one that reaches them may also go forward.
	tr.done, tr.fails = nil, nil
	if value, _, err := do(t.Context(), x, tr.book); err != nil || value != "booked" {
		t.Errorf("%q, %v", value, err)
	}
	checkDone(t, tr, "hotel", "car", "end")
}

// Without a record no later attempt continues. What can be undone is undone.
func TestSagaWithoutClaimUndoesWhatItCan(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{OnMissingKey: idempotent.RunMissingKey})
	tr := &trip{fails: map[string]error{"car": soldOut(), "not a hotel": errCrash}}
	_, err := idempotent.Do(t.Context(), x, idempotent.Key{}, tr.book)
	var failed *idempotent.CompensationError
	if !errors.As(err, &failed) || failed.Step != "hotel" {
		t.Error(err)
	}
	checkDone(t, tr, "flight", "hotel", "car", "not a hotel", "not a flight")
}

// Its process ended before it was undone: no result is left to undo the step
// with.
func TestStepWithoutResultIsNotUndone(t *testing.T) {
	store := memory.New(0)
	err := store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Attempt: 1, Lease: driver.LeaseEnded,
		Steps: map[string][]byte{"charge": []byte("~!it was too large")}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", mustNotRun(t), func(context.Context, string) error { t.Error("undone with nothing"); return nil })
		return "", idempotent.Permanent(err)
	})
	if r := stored(t, store); !errors.Is(err, idempotent.ErrCompensation) || r.Status != driver.InProgress {
		t.Errorf("%v, %s", err, r.Status)
	}
}

func TestSagaRefusesStepsWithinSteps(t *testing.T) {
	inner := func(ctx context.Context) (string, error) {
		return idempotent.SagaStep(ctx, "inner", mustNotRun(t), func(context.Context, string) error { return nil })
	}
	_, _, err := do(t.Context(), newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
		return idempotent.Step(ctx, "outer", inner)
	})
	if !errors.Is(err, idempotent.ErrStep) {
		t.Errorf("%v", err)
	}
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
	var unfinished *idempotent.CompensationError
	if !errors.As(err, &unfinished) || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if _, ok := unfinished.Cause.(*soldOutError); !ok || errors.Is(err, unfinished.Cause) {
		t.Errorf("caused by %v, which is final, and this is not", unfinished.Cause)
	}
}

func TestFinishedSagaStepsAreCounted(t *testing.T) {
	if n := adapter.FinishedSagaSteps(t.Context()); n != 0 {
		t.Errorf("%d outside of a call", n)
	}
	x := newExecutor(t, memory.New(0), nil)
	tr := &trip{fails: map[string]error{"car": errCrash}}
	for range 2 { // the second attempt reads the steps of the first
		_, _, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			if n := adapter.FinishedSagaSteps(ctx); n != 0 {
				t.Errorf("%d before the first", n)
			}
			_, err := idempotent.Step(ctx, "cannot be undone", func(context.Context) (int, error) { return 0, nil })
			if err != nil {
				return "", err
			}
			value, err := tr.book(ctx)
			if n := adapter.FinishedSagaSteps(ctx); n != 2 {
				t.Errorf("%d after two, and one that failed", n)
			}
			return value, err
		})
		if !errors.Is(err, errCrash) {
			t.Error(err)
		}
	}
}
