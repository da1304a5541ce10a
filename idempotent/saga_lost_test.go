package idempotent_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
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

// notUndone is of a call that has not undone this step, because of its result if
// lost is true.
func (r result) notUndone(step string, lost bool) result {
	r.t.Helper()
	check.Equal(r.t, check.As[*idempotent.CompensationError](r.t, r.err).Step, step)
	check.Equal(r.t, errors.Is(r.err, idempotent.ErrResultUnavailable), lost)
	check.False(r.t, errors.Is(r.err, idempotent.ErrReplayed))
	check.False(r.t, r.event.Permanent)
	return r.ended(idempotent.OutcomeReleased)
}

// The process ends while the only one that can undo the charge undoes it.
func TestLostStepDoesNotStopTheUndoingOfOthers(t *testing.T) {
	store := memory.New(0)
	limits := limited(t, store)
	crash := crashing(store)
	crash.Store = limits
	tr := &trip{fails: map[string]error{"not a charge": errCrash}}
	try(t.Context(), t, newExecutor(t, crash, nil), lostTrip(tr)).notUndone("charge", false)
	checkDone(t, tr, "flight", "hotel", "car", "end", "charge", "not a charge")

	x := newExecutor(t, limits, nil)
	lost := try(t.Context(), t, x, lostTrip(tr)).notUndone("charge", true)
	check.Says(t, lost.err, "undo it by hand", "the advice")
	checkDone(t, tr, "end", "not a car", "not a hotel", "not a flight")
	// It is reported as long as nobody has undone it, and nothing is undone twice.
	for range 2 {
		try(t.Context(), t, x, lostTrip(tr)).notUndone("charge", true)
		checkDone(t, tr, "end")
	}
	r := stored(t, store)
	names := slices.Sorted(maps.Keys(r.Steps))
	check.Equal(t, r.Status, driver.InProgress)
	check.Equal(t, r.Owner, "")
	check.Slice(t, slices.DeleteFunc(names, func(name string) bool { return name == ":room" }), []string{":failure", ":undo:car", ":undo:flight", ":undo:hotel", "car", "charge", "flight", "hotel"})
}

// begun is a record whose attempt ended behind its last step.
func begun(t *testing.T, steps map[string]string) *memory.Store {
	t.Helper()
	store := memory.New(0)
	r := driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Attempt: 1, Lease: driver.LeaseEnded, Steps: map[string][]byte{}}
	for name, data := range steps {
		r.Steps[name] = []byte(data)
	}
	check.Must(t, store.Put(r))
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
				try(t.Context(), t, newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
					check.Nil(t, tr.step(ctx, "flight"))
					err := tr.step(ctx, "charge")
					check.Is(t, err, idempotent.ErrResultUnavailable, "the step")
					check.Failed(t, tr.step(ctx, "mail"), "another step begins")
					return "booked", end(err)
				}).notUndone("charge", true)
				check.True(t, stored(t, store).Steps[":undo:flight"] != nil, "the other step is not undone")
			}
		})
	}
}

func TestFailingUndoStopsTheOthersBehindALostStep(t *testing.T) {
	store := begun(t, map[string]string{"flight": `~="a flight"`, "hotel": `~="a hotel"`, "car": "~!it was too large"})
	x := newExecutor(t, store, nil)
	tr := &trip{fails: map[string]error{"not a hotel": errCrash}}
	try(t.Context(), t, x, tr.book).notUndone("hotel", false).observed(idempotent.ErrResultUnavailable)
	checkDone(t, tr, "not a hotel")
	tr.fails = nil
	try(t.Context(), t, x, tr.book).notUndone("car", true)
	checkDone(t, tr, "not a hotel", "not a flight")
}

// Such results may be readable tomorrow, and undoing keeps its order.
func TestResultThatCannotBeReadNowStopsTheUndoingOfOthers(t *testing.T) {
	const failure = `={"type":"soldOutError","message":"sold out","steps":["hotel","flight"]}`
	for name, hotel := range map[string]string{"of a payload store": "~@1", "of a later version": "~?1", "of another type": "~={}"} {
		t.Run(name, func(t *testing.T) {
			store := begun(t, map[string]string{"flight": `~="a flight"`, "hotel": hotel, ":failure": failure})
			tr := &trip{}
			try(t.Context(), t, newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
				return "", errors.Join(tr.step(ctx, "flight"), tr.step(ctx, "hotel"))
			}).notUndone("hotel", true)
			checkDone(t, tr)
		})
	}
}

// A Step that has become a SagaStep never stopped its call.
func TestLostStepThatWasNoSagaStepStopsNoCall(t *testing.T) {
	store := begun(t, map[string]string{"flight": "!it was too large"})
	tr := &trip{}
	try(t.Context(), t, newExecutor(t, store, nil), func(ctx context.Context) (string, error) {
		check.Is(t, tr.step(ctx, "flight"), idempotent.ErrResultUnavailable, "the step")
		return "booked", tr.step(ctx, "hotel")
	}).returned("booked")
	checkDone(t, tr, "hotel")
}

// Its record is not finished: the next attempt stores the failure.
func TestSagaWhoseFailureIsNotStoredIsNotReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := begun(t, map[string]string{"flight": `~="a flight"`, ":failure": `={"type":"soldOutError","message":"sold out","steps":["flight"]}`})
		isFail := func(w write) bool { return w.change.Status == driver.Failed }
		failed := try(t.Context(), t, newExecutor(t, hooked(store, fails(isFail, errNetwork)), nil), new(trip).book).executed()
		check.False(t, errors.Is(failed, idempotent.ErrReplayed))
		check.Is(t, failed.Handler, idempotent.ErrReplayed)
	})
}
