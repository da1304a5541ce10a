package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// Retention + ClockSkew overflows: "for ever" becomes the year 1734.
func TestHugeRetention(t *testing.T) {
	x, err := idempotent.New("op", memory.New(0), &idempotent.Config{Retention: math.MaxInt64})
	if err != nil {
		return // refusing it would do as well
	}
	runs := 0
	for range 2 {
		_, _, err := do(t.Context(), x, func(context.Context) (string, error) { runs++; return "done", nil })
		if err != nil {
			t.Error(err)
		}
	}
	if runs != 1 {
		t.Errorf("ran %d times", runs)
	}
}

// A store may meet a record that is over: dynamo answers a Get after a
// TransactionConflictException, and a waiting call polls with Get.
func TestOverRecordIsReplayed(t *testing.T) {
	store := memory.New(0)
	id := recordID(t, theKey)
	if err := store.Put(driver.Record{ID: id, Status: driver.Completed, Owner: "x", Attempt: 1,
		Expires: time.Now().Add(-48 * time.Hour), Data: []byte(`"of the day before yesterday"`)}); err != nil {
		t.Fatal(err)
	}
	conflict := true
	p := &proxy{Store: store, create: func(ctx context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if conflict { // as dynamo.Store.lost does
			conflict = false
			r, err := store.Get(ctx, id)
			return r, false, err
		}
		return next()
	}}
	value, event, err := do(t.Context(), newExecutor(t, p, nil), returns("today's"))
	if err != nil || value != "today's" {
		t.Errorf("got %q, %v, %+v", value, err, event)
	}
}

// A waiting call never notices that a foreign record without a lease is over.
func TestWaitingForARecordThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		if err := store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Expires: time.Now().Add(10 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		value, _, err := do(t.Context(), newExecutor(t, store, &idempotent.Config{Wait: time.Hour}), returns("ran"))
		if err != nil || value != "ran" {
			t.Errorf("after %v: %q, %v", time.Since(begun), value, err)
		}
	})
}

// A nested call on the key that its own context holds waits for itself when
// the outer one failed open.
func TestNestedCallUnderFailOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &proxy{Store: memory.New(0), create: func(context.Context, driver.Record, time.Time, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errNetwork
		}}
		x := newExecutor(t, store, &idempotent.Config{OnStoreError: idempotent.FailOpen, Wait: time.Hour})
		_, _, _ = do(t.Context(), x, func(ctx context.Context) (string, error) {
			begun := time.Now()
			_, err := idempotent.Do(ctx, x, theKey, mustNotRun(t))
			if !errors.Is(err, idempotent.ErrNestedCall) || time.Since(begun) > time.Second {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
			return "", nil
		})
	})
}

// A context that was cancelled during the claim is reported as a deadline, in
// an error of no exported type.
func TestCancelledDuringTheClaim(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := &proxy{Store: memory.New(0), create: func(_ context.Context, _ driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		defer cancel()
		return next()
	}}
	_, event, err := do(ctx, newExecutor(t, p, nil), mustNotRun(t))
	if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled, but: %v", err)
	}
	if strings.HasPrefix(fmt.Sprintf("%T", err), "*fmt.") {
		t.Errorf("Do promises one of this package's types or fn's own: %T", err)
	}
	if event.Outcome == idempotent.OutcomeReleased {
		t.Error("'released' means that the handler failed or panicked; it did not run")
	}
}

// A store that hangs rather than refuses never fails open in an invocation.
func TestFailOpenOnAHungStore(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		p := &proxy{Store: memory.New(0), create: func(ctx context.Context, _ driver.Record, _ time.Time, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			<-ctx.Done()
			return driver.Record{}, false, errNetwork
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		begun := time.Now()
		value, _, err := do(ctx, newExecutor(t, p, &idempotent.Config{OnStoreError: idempotent.FailOpen}), returns("ran"))
		if err != nil || value != "ran" {
			t.Errorf("after %v of an invocation of 30 s: %v", time.Since(begun), err)
		}
	})
}

// Nothing ran before, but the handler is told of an earlier attempt.
func TestRefundedClaimLooksLikeATakeover(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		_, _, _ = do(ctx, x, mustNotRun(t))
		_, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			if claim, _ := idempotent.FromContext(ctx); claim.Takeover() {
				t.Error("Takeover: 'an earlier attempt has begun, and may have had any part of its effects'")
			}
			return "", nil
		})
		if err != nil || event.Outcome == idempotent.OutcomeTakeover {
			t.Errorf("%q means that the lease of an earlier attempt had lapsed; %v", event.Outcome, err)
		}
	})
}

// A caller that has gone waits for a refund as long as the Reserve.
func TestRefundTakesTheReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) (driver.Record, bool, error) {
			<-ctx.Done()
			return driver.Record{}, false, errNetwork
		}
		p := &proxy{Store: memory.New(0),
			create: func(ctx context.Context, _ driver.Record, _ time.Time, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
				return hang(ctx)
			},
			change: func(ctx context.Context, _ driver.Fence, _ driver.Change, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
				return hang(ctx)
			}}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := do(ctx, newExecutor(t, p, &idempotent.Config{Lease: 5 * time.Minute, Reserve: time.Minute}), mustNotRun(t))
		if since := time.Since(begun); since > 7*time.Second {
			t.Errorf("a call with 1 s of time took %v: %v", since, err)
		}
	})
}

// "Wait is how long a duplicate … waits".
func TestWaitOnAHungGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		done := inBackground(t, newExecutor(t, store, nil), 10*time.Minute, "x", nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		begun := time.Now()
		_, _, err := do(ctx, newExecutor(t, hungGet{store}, &idempotent.Config{Wait: 2 * time.Second}), mustNotRun(t))
		if since := time.Since(begun); since > 10*time.Second {
			t.Errorf("Wait 2 s took %v: %v", since, err)
		}
		<-done
	})
}

type hungGet struct{ driver.Store }

func (h hungGet) Get(ctx context.Context, _ string) (driver.Record, error) {
	<-ctx.Done()
	return driver.Record{}, errNetwork
}
