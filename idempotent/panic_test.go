package idempotent_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

func TestDoReleasesAPanicThatGoesOn(t *testing.T) {
	store := memory.New(0)
	var seen []idempotent.Event
	x := newExecutor(t, store, &idempotent.Config{Observer: observe(func(e idempotent.Event) { seen = append(seen, e) })})
	p := panicOf(func() { _, _, _ = do(t.Context(), x, func(context.Context) (string, error) { panic("boom") }) })
	check.Equal(t, p, any("boom"))
	check.Equal(t, len(seen), 1)
	check.Equal(t, seen[0].Outcome, idempotent.OutcomeReleased)
	check.Failed(t, seen[0].Err)
	try(t.Context(), t, x, returns("second")).returned("second")
}

// A nil pointer as an error may panic in Unwrap, and in Error. The call finishes or
// releases its record nonetheless, so that no handler runs again after a permanent error.
func TestPanicInUnwrapLeavesNothingInProgress(t *testing.T) {
	for name, end := range map[string]error{
		"permanent":               idempotent.Permanent((*nilUnwrap)(nil)),
		"permanent, without text": idempotent.Permanent((*typedNil)(nil)),
		"plain":                   (*nilUnwrap)(nil),
	} {
		bubble(t, name, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, nil)
			runs := 0
			for range 2 {
				panicOf(func() {
					_, _, _ = do(t.Context(), x, func(context.Context) (string, error) { runs++; return "", end })
				})
				if r := stored(t, store); r.Status == driver.InProgress && r.Owner != "" {
					t.Errorf("left in progress after the call has ended: %v", r.Lease)
				}
				time.Sleep(2 * time.Minute)
			}
			check.True(t, name == "plain" || runs == 1, runs)
		})
	}
}

type nilUnwrap struct{ inner error }

func (e *nilUnwrap) Error() string { return "typed nil" }

func (e *nilUnwrap) Unwrap() error { return e.inner }

// panicsInDecode is a codec that panics where it should fail.
type panicsInDecode struct{ idempotent.JSON }

func (panicsInDecode) Decode([]byte, any) error { panic("hostile") }

// A codec that panics in Decode costs the caller the result, and not the
// process.
func TestPanicInDecodeIsAnError(t *testing.T) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{Codec: panicsInDecode{}})
	_, _, _ = do(t.Context(), x, returns("done"))
	r := try(t.Context(), t, x, mustNotRun(t))
	check.Failed(t, check.As[*idempotent.ResultUnavailableError](t, r.err).Err)
}

type exitsInEncode struct{ idempotent.JSON }

func (exitsInEncode) Encode(any) ([]byte, error) { runtime.Goexit(); return nil, nil }

// Goexit in the codec, as from a t.Fatal in MarshalJSON, leaves the work recorded as
// done. The event of the call reports the lost result, or the lost lease.
func TestGoexitInEncodeKeepsDoneWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		ctx, event := adapter.WithEvent(context.Background())
		inGoroutine(func() {
			_, _ = idempotent.Do(ctx, newExecutor(t, store, &idempotent.Config{Codec: exitsInEncode{}}), theKey, returns("charged"))
		})
		if event.Outcome == idempotent.OutcomeExecuted && event.Err == nil {
			t.Errorf("the result is lost, and the observer sees %+v", *event)
		}
		time.Sleep(2 * time.Minute)
		try(t.Context(), t, newExecutor(t, store, nil), returns("charged again")).failed()
	})
	// Another call has taken over meanwhile.
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		ctx, event := adapter.WithEvent(context.Background())
		inGoroutine(func() {
			x := newExecutor(t, frozen(store), &idempotent.Config{Lease: 10 * time.Second, Codec: exitsInEncode{}})
			_, _ = idempotent.Do(ctx, x, theKey, func(context.Context) (string, error) {
				time.Sleep(time.Minute)
				_, _ = idempotent.Do(context.Background(), newExecutor(t, store, nil), theKey, returns("theirs"))
				return "zombie", nil
			})
		})
		check.Equal(t, event.Outcome, idempotent.OutcomeLeaseLost, "the record is another's, and the outcome")
	})
}

// typedNil has methods that panic for nil.
type typedNil struct{ inner error }

func (p *typedNil) Error() string { return p.inner.Error() }

func (p *typedNil) Unwrap() error { return p.inner }

// A handler may return a nil pointer as its error. No Observer fails because of
// it.
func TestObserversSurviveErrorsThatPanic(t *testing.T) {
	var none *typedNil
	var noStore *idempotent.StoreError
	for want, err := range map[string]error{
		"*idempotent_test.typedNil": none, "*idempotent.StoreError": noStore, "*idempotent_test.typedNil; *errors.errorString": errors.Join(none, errCrash),
	} {
		t.Run(want, func(t *testing.T) {
			out := logged(t)
			x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: idempotent.LogObserver{}})
			ctx, event := adapter.WithEvent(t.Context())
			_, got := idempotent.Do(ctx, x, theKey, failsWith(err))
			check.Equal(t, got, err)
			check.Equal(t, event.ErrorType(), want)
			check.False(t, event.ErrorIs(idempotent.ErrInProgress))
			check.Contains(t, out.String(), want)
		})
	}
}

// The outcome is one of the constants also when the store panics, and the call to the
// store counts.
func TestOutcomeOfAStoreThatPanics(t *testing.T) {
	var seen []idempotent.Event
	broken := hooked(memory.New(0), func(write) (driver.Record, bool, error) { panic("boom") })
	x := newExecutor(t, broken, &idempotent.Config{Observer: observe(func(e idempotent.Event) { seen = append(seen, e) })})
	panicOf(func() { _, _, _ = do(t.Context(), x, mustNotRun(t)) })
	check.Equal(t, len(seen), 1)
	check.Equal(t, seen[0].Outcome, idempotent.OutcomeUnknown)
	check.Equal(t, seen[0].RoundTrips, 1)
}
