package idempotent_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// lostTrip books a trip and charges for it. The receipt of the charge fits into
// no record.
func lostTrip(tr *trip) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if _, err := tr.book(ctx); err != nil {
			return "", err
		}
		return idempotent.SagaStep(ctx, "charge", func(context.Context) (string, error) {
			return strings.Repeat("x", 500_000), tr.do("charge")
		}, func(context.Context, string) error { return tr.do("not a charge") })
	}
}

// notUndone requires that a call has not undone this step, because of its result
// if lost is true.
func notUndone(t *testing.T, event *idempotent.Event, err error, step string, lost bool) {
	t.Helper()
	var failed *idempotent.CompensationError
	if !errors.As(err, &failed) || failed.Step != step || errors.Is(err, idempotent.ErrResultUnavailable) != lost || errors.Is(err, idempotent.ErrReplayed) {
		t.Errorf("%v, want a CompensationError of %s", err, step)
	}
	if event.Permanent || event.Outcome != idempotent.OutcomeReleased {
		t.Errorf("%s, permanent: %v", event.Outcome, event.Permanent)
	}
}

// The process ends while the only one that can undo the charge undoes it.
func TestLostStepDoesNotStopTheUndoingOfOthers(t *testing.T) {
	store := memory.New(0)
	limits := limited(t, store)
	crash := crashing(store)
	crash.Store = limits
	tr := &trip{fails: map[string]error{"not a charge": errCrash}}
	_, event, err := do(t.Context(), newExecutor(t, crash, nil), lostTrip(tr))
	notUndone(t, event, err, "charge", false)
	checkDone(t, tr, "flight", "hotel", "car", "end", "charge", "not a charge")

	x := newExecutor(t, limits, nil)
	_, event, err = do(t.Context(), x, lostTrip(tr))
	notUndone(t, event, err, "charge", true)
	if !strings.Contains(err.Error(), "undo it by hand") {
		t.Errorf("the advice: %v", err)
	}
	checkDone(t, tr, "end", "not a car", "not a hotel", "not a flight")
	// It is reported as long as nobody has undone it, and nothing is undone twice.
	for range 2 {
		_, event, err = do(t.Context(), x, lostTrip(tr))
		notUndone(t, event, err, "charge", true)
		checkDone(t, tr, "end")
	}
	r := stored(t, store)
	if names := slices.Sorted(maps.Keys(r.Steps)); r.Status != driver.InProgress || r.Owner != "" ||
		!slices.Equal(slices.DeleteFunc(names, func(name string) bool { return name == ":room" }), []string{":failure", ":undo:car", ":undo:flight", ":undo:hotel", "car", "charge", "flight", "hotel"}) {
		t.Errorf("%s, owned by %q: %q", r.Status, r.Owner, names)
	}
}

// begun is a record whose attempt ended behind its last step.
func begun(t *testing.T, steps map[string]string) *memory.Store {
	t.Helper()
	store := memory.New(0)
	r := driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Attempt: 1, Lease: driver.LeaseEnded, Steps: map[string][]byte{}}
	for name, data := range steps {
		r.Steps[name] = []byte(data)
	}
	if err := store.Put(r); err != nil {
		t.Fatal(err)
	}
	return store
}

// The process ends behind the step, before anything says that the call has
// failed. No attempt could go forward, whatever its handler does.
func TestLostStepStopsTheCallOfEachAttempt(t *testing.T) {
	for name, end := range map[string]func(error) error{
		"returned":  func(err error) error { return err },
		"ignored":   func(error) error { return nil },
		"permanent": idempotent.Permanent,
	} {
		t.Run(name, func(t *testing.T) {
			store := begun(t, map[string]string{"flight": `~="a flight"`, "charge": "~!it was too large"})
			for range 2 {
				tr := &trip{}
				_, event, err := do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
					if err := tr.step(ctx, "flight"); err != nil {
						t.Error(err)
					}
					err := tr.step(ctx, "charge")
					if !errors.Is(err, idempotent.ErrResultUnavailable) {
						t.Errorf("the step: %v", err)
					}
					if err := tr.step(ctx, "mail"); err == nil {
						t.Error("another step begins")
					}
					return "booked", end(err)
				})
				notUndone(t, event, err, "charge", true)
				if undone := stored(t, store).Steps[":undo:flight"]; undone == nil {
					t.Error("the other step is not undone")
				}
			}
		})
	}
}

func TestFailingUndoStopsTheOthersBehindALostStep(t *testing.T) {
	store := begun(t, map[string]string{"flight": `~="a flight"`, "hotel": `~="a hotel"`, "car": "~!it was too large"})
	x := newExecutor(t, store, nil)
	tr := &trip{fails: map[string]error{"not a hotel": errCrash}}
	_, event, err := do(t.Context(), x, tr.book)
	notUndone(t, event, err, "hotel", false)
	if !errors.Is(event.Err, idempotent.ErrResultUnavailable) {
		t.Errorf("the observer sees %v", event.Err)
	}
	checkDone(t, tr, "not a hotel")
	tr.fails = nil
	_, event, err = do(t.Context(), x, tr.book)
	notUndone(t, event, err, "car", true)
	checkDone(t, tr, "not a hotel", "not a flight")
}

// Such results may be readable tomorrow, and undoing keeps its order.
func TestResultThatCannotBeReadNowStopsTheUndoingOfOthers(t *testing.T) {
	const failure = `={"type":"soldOutError","message":"sold out","steps":["hotel","flight"]}`
	for name, hotel := range map[string]string{"of a payload store": "~@1", "of a later version": "~?1", "of another type": "~={}"} {
		t.Run(name, func(t *testing.T) {
			store := begun(t, map[string]string{"flight": `~="a flight"`, "hotel": hotel, ":failure": failure})
			tr := &trip{}
			_, event, err := do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
				return "", errors.Join(tr.step(ctx, "flight"), tr.step(ctx, "hotel"))
			})
			notUndone(t, event, err, "hotel", true)
			checkDone(t, tr)
		})
	}
}

// A Step that has become a SagaStep never stopped its call.
func TestLostStepThatWasNoSagaStepStopsNoCall(t *testing.T) {
	store := begun(t, map[string]string{"flight": "!it was too large"})
	tr := &trip{}
	value, _, err := do(t.Context(), newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
		if err := tr.step(ctx, "flight"); !errors.Is(err, idempotent.ErrResultUnavailable) {
			t.Errorf("the step: %v", err)
		}
		return "booked", tr.step(ctx, "hotel")
	})
	if value != "booked" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
	checkDone(t, tr, "hotel")
}
