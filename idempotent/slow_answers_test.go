package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The service may be permitted again while the denial is repeated.
func TestDenialAfterAnOutageIsRepeated(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		healthy := time.Now().Add(40 * time.Second)
		denied := hooked(memory.New(0), onFirst(isChange, notSent(driver.ErrDenied)))
		x := newExecutor(t, hooked(denied, on(func(w write) bool { return isChange(w) && time.Now().Before(healthy) }, notSent(driver.ErrUnavailable))), nil)
		try(during(t, 15*time.Minute), t, x, func(context.Context) (string, error) { return "done", nil }).succeeded()
	})
}

// The program ended the context, with a cause of its own.
func TestSafeTextOfAWaitDoesNotQuoteItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: time.Minute})
		done := inBackground(t, x, 10*time.Second, "", nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("customer 4711 hung up")) })
		_, _, err := do(ctx, x, func(context.Context) (string, error) { return "", nil })
		text := idempotent.SafeText(err)
		check.Failed(t, err)
		check.Lacks(t, text, "4711")
		<-done
	})
}

// A batch with little time left does not show that the store is down, and the record may
// be finished.
func TestClaimThatWouldFailOpenIsNotBoundByItsBatch(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		x := newExecutor(t, hooked(memory.New(0), on(isCreate, slow(800*time.Millisecond))), &idempotent.Config{OnStoreError: idempotent.FailOpen})
		runs := 0
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			_, _, err := do(startsBy(ctx, time.Second), x, func(context.Context) (string, error) { runs++; return "", nil })
			cancel()
			check.Nil(t, err)
		}
		check.Equal(t, runs, 1)
	})
}

// The takeover landed, so the next call meets a released record.
func TestTakeoverWhoseAnswerIsLostIsLapsed(t *testing.T) {
	onLambda(t, func(t *testing.T) {
		store := memory.New(0)
		abandonClaim(t, store, time.Minute)
		time.Sleep(2 * time.Minute)
		x := newExecutor(t, silent{takeovers: true, landed: true}.over(store), nil)
		_, event, err := do(during(t, 3*time.Second), x, returns(""))
		check.Failed(t, err)
		check.True(t, event.Lapsed)
	})
}
