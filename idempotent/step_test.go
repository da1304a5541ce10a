package idempotent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// errCrash ends a handler as a crash does.
var errCrash = errors.New("crash")

// crashing is a store whose releases fail: a handler leaves what a killed
// process leaves, with its lease lapsed.
func crashing(store *memory.Store) *proxy {
	return hooked(store, on(isRelease, func(w write) (driver.Record, bool, error) {
		r, err := store.Get(context.Background(), w.fence.ID)
		if err != nil {
			return r, false, err
		}
		r.Lease = time.Now().Add(-time.Hour)
		return r, true, store.Put(r)
	}))
}

func TestStepNames(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		ok := func(name string) error {
			_, err := idempotent.Step(ctx, name, returns("done"))
			return err
		}
		for _, name := range []string{"", "a:b", "\x00", "\xff", strings.Repeat("x", 256)} {
			check.Is(t, ok(name), idempotent.ErrStep, name)
		}
		check.Nil(t, ok("a.b [0] é"))
		// After an error the same step may be tried again.
		if _, err := idempotent.Step(ctx, "again", failsWith(errCrash)); err != errCrash {
			t.Error(err)
		}
		check.Nil(t, ok("again"))
		// A step within a step has its own name, and its own keys.
		_, err := idempotent.Step(ctx, "outer", func(inner context.Context) (string, error) {
			check.Differ(t, idempotent.DownstreamKey(inner, "charge"), idempotent.DownstreamKey(ctx, "charge"), "a step has the handler's downstream key")
			return idempotent.Step(inner, "again", returns("done"))
		})
		return "", err
	}).succeeded()
}

// Wrong code fails the call, also when the handler ignores the step's error.
func TestStepTwiceFailsTheCall(t *testing.T) {
	try(t.Context(), t, newExecutor(t, memory.New(0), nil), func(ctx context.Context) (string, error) {
		for i := range 2 {
			//oncevet:ignore stepname the test asks for the error
			_, err := idempotent.Step(ctx, "charge", returns("done"))
			check.Equal(t, errors.Is(err, idempotent.ErrStep), (i == 1))
		}
		return "all fine", nil
	}).is(idempotent.ErrStep).ended(idempotent.OutcomeReleased)
}

func TestStepsThatNothingWouldKeepOrUndoPanic(t *testing.T) {
	panics(t, "no call", func() { _, _ = idempotent.Step(t.Context(), "a", mustNotRun(t)) })
	panics(t, "no undo", func() {
		_, _ = idempotent.SagaStep(idempotent.Unprotected(t.Context()), "a", mustNotRun(t), nil)
	})
}

// Steps of one handler run at the same time.
func TestStepsRunAtOnce(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				_, err := idempotent.Step(ctx, strings.Repeat("s", i+1), returns("done"))
				check.Nil(t, err)
			})
		}
		all.Wait()
		check.Equal(t, len(stored(t, store).Steps), 20, "steps are stored")
		return "", nil
	}).succeeded().roundTrips(22)
}

// Without a claim nothing stores a step, and it runs all the same.
func TestStepRunsWithoutAClaim(t *testing.T) {
	down := hooked(memory.New(0), fails(isCreate, errNetwork))
	step := func(ctx context.Context) (string, error) {
		value, err := idempotent.Step(ctx, "charge", returns("charged"))
		check.Equal(t, value, "charged")
		return value, err
	}
	_, err := step(idempotent.Unprotected(t.Context()))
	check.Nil(t, err, "unprotected")
	try(t.Context(), t, newExecutor(t, down, &idempotent.Config{OnStoreError: idempotent.FailOpen}), step).returned("charged")
	check.Nil(t, bypassed(t.Context(), t, down, step), "no key")
}

func TestStepTooLargeIsStoredWithoutResult(t *testing.T) {
	store := memory.New(0)
	small := hooked(store, fails(func(w write) bool { return len(w.change.Steps["long"]) > 100 }, driver.ErrTooLarge))
	x := newExecutor(t, small, nil)
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		value, err := idempotent.Step(ctx, "long", returns(strings.Repeat("x", 200)))
		check.Nil(t, err)
		check.Equal(t, len(value), 200)
		return "", errCrash
	}).fails(errCrash)
	check.True(t, strings.HasPrefix(string(stored(t, store).Steps["long"]), "!"))
}

func TestStepThatEndsAfterItsCall(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		go func() {
			_, err := idempotent.Step(ctx, "late", func(context.Context) (string, error) {
				close(begun)
				<-goOn
				return "", nil
			})
			ended <- err
		}()
		<-begun
		return "recorded", nil
	}).succeeded()
	close(goOn)
	lateErr := <-ended
	late := check.As[*idempotent.StoreError](t, lateErr)
	check.True(t, late.Executed)
	check.Says(t, lateErr, "the handler returned")
}

func TestStepAfterTheHandlerIsRefused(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	var late context.Context
	try(t.Context(), t, x, func(ctx context.Context) (string, error) { late = ctx; return "", nil }).succeeded()
	_, err := idempotent.Step(late, "charge", mustNotRun(t))
	check.Is(t, err, idempotent.ErrStep)
}

func TestStepDoesNotBeginWithoutTime(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	ctx, cancel := context.WithCancel(t.Context())
	try(ctx, t, x, func(ctx context.Context) (string, error) {
		cancel()
		return idempotent.Step(ctx, "charge", mustNotRun(t))
	}).is(context.Canceled)
}

// A later attempt would receive an empty receipt, or undo a charge without its id.
func TestStepWhoseResultJSONDoesNotCarryDoesNotRun(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	r := try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		_, err := idempotent.SagaStep(ctx, "charge", never[[]hidden](t), func(context.Context, []hidden) error { panic("undo") })
		check.Is(t, err, idempotent.ErrStep)
		return "ignored the error", nil
	})
	refused := check.As[*idempotent.StepError](t, r.err)
	check.Contains(t, refused.Reason, "hidden has no field that encoding/json writes")
	try(t.Context(), t, x, returns("with another type")).succeeded()
}

func TestStepStoresWhatACodecOfItsOwnCarries(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{Codec: indented{}})
	try(t.Context(), t, x, func(ctx context.Context) (string, error) {
		_, err := idempotent.Step(ctx, "charge", func(context.Context) (hidden, error) { return hidden{}, nil })
		return "", err
	}).succeeded()
}
