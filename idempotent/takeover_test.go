package idempotent_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

func TestTakeoverAfterTheSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: 10 * time.Second})
		crash(t, store, x)
		first := stored(t, store)
		for _, end := range []time.Duration{-time.Second, 0, time.Second} {
			time.Sleep(time.Until(first.Lease.Add(end)))
			if _, _, err := do(t.Context(), x, mustNotRun(t)); !errors.Is(err, idempotent.ErrInProgress) {
				t.Fatalf("%v after the lease: %v", time.Since(first.Lease), err)
			}
		}
		time.Sleep(time.Millisecond)
		value, event, err := do(t.Context(), x, func(ctx context.Context) (string, error) {
			claim, ok := idempotent.FromContext(ctx)
			if !ok || claim.Attempt != 2 || !claim.Takeover() || claim.Operation != "op" {
				t.Errorf("claim: %+v", claim)
			}
			r := stored(t, store)
			if r.Owner == first.Owner || r.Expires.Before(first.Expires) || r.Fingerprint != first.Fingerprint {
				t.Errorf("taken over: %+v", r)
			}
			return "second", nil
		})
		if err != nil || value != "second" || event.Outcome != idempotent.OutcomeTakeover || event.Attempt != 2 || event.RoundTrips != 3 {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
	})
}

// crash leaves a record as a process does that dies while its handler runs.
func crash(t *testing.T, store driver.Store, like *idempotent.Executor) {
	t.Helper()
	dying := &proxy{Store: store, change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		return driver.Record{}, false, errors.New("the process is dead")
	}}
	x := newExecutor(t, dying, &idempotent.Config{Lease: 10 * time.Second, Reserve: time.Millisecond})
	if _, _, err := do(t.Context(), x, failsWith(errors.New("killed"))); err == nil {
		t.Fatal("no error")
	}
}

// The attempts before it still count.
func TestTakeoverAnsweredTooLateKeepsTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		late := true
		x := newExecutor(t, &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			record, ok, err := next()
			if late && c.Owner != "" {
				late = false
				time.Sleep(2 * time.Minute)
			}
			return record, ok, err
		}}, &idempotent.Config{Lease: time.Minute, MaxAttempts: 2})
		if _, _, err := do(t.Context(), x, failsWith(errCrash)); err != errCrash {
			t.Fatal(err)
		}
		_, event, err := do(t.Context(), x, returns("done"))
		if r := stored(t, store); err != nil || event.Attempt != 3 || r.Used() != 2 {
			t.Errorf("%v, %+v, %+v", err, event, r)
		}
	})
}

// Retention never moves back. A successor with a short lease does not shorten
// the retention of a long first attempt.
func TestTakeoverKeepsTheLongerRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		id := recordID(t, theKey)
		far := time.Now().Add(1000 * time.Hour)
		if err := store.Put(driver.Record{ID: id, Status: driver.InProgress, Owner: "a", Attempt: 1, Lease: time.Now().Add(-time.Hour), Expires: far}); err != nil {
			t.Fatal(err)
		}
		_, _, err := do(t.Context(), newExecutor(t, store, nil), func(context.Context) (string, error) {
			if r := stored(t, store); !r.Expires.Equal(far) {
				t.Errorf("it expires %v earlier", far.Sub(r.Expires))
			}
			return "", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A record in progress outlives its lease by the retention and the skew.
func TestExpirationInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Lease: time.Minute, Retention: time.Hour, ClockSkew: 3 * time.Second})
		begun := time.Now()
		if _, _, err := do(t.Context(), x, func(context.Context) (string, error) {
			if r := stored(t, store); !r.Expires.Equal(begun.Add(time.Minute + time.Hour + 3*time.Second)) {
				t.Errorf("in progress it expires after %v", r.Expires.Sub(begun))
			}
			return "", nil
		}); err != nil {
			t.Fatal(err)
		}
		if r := stored(t, store); !r.Expires.Equal(begun.Add(time.Hour + 3*time.Second)) {
			t.Errorf("completed it expires after %v", r.Expires.Sub(begun))
		}
		time.Sleep(time.Hour + 4*time.Second)
		if value, _, err := do(t.Context(), x, mustNotRun(t)); err != nil || value != "" {
			t.Errorf("within the skew after the retention: %q, %v", value, err)
		}
		time.Sleep(3 * time.Second)
		if value, _, err := do(t.Context(), x, returns("again")); err != nil || value != "again" {
			t.Errorf("after the retention: %q, %v", value, err)
		}
	})
}

// A retention that overflows together with the skew keeps a record, or is
// refused.
func TestRetentionThatOverflowsIsForEver(t *testing.T) {
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

// Nothing ran before the refund, so the handler sees no earlier attempt.
func TestClaimAfterARefundIsNoTakeover(t *testing.T) {
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

// The claim whose answer came too late has ended the lapsed lease. The next one,
// which runs, meets a released record: the crash must be reported all the same.
func TestTakeoverWhoseFirstAnswerCameTooLateIsLapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := abandoned(t)
		late := true
		p := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			met, ok, err := next()
			if late && c.Owner != "" {
				late = false
				time.Sleep(time.Minute) // the whole lease
			}
			return met, ok, err
		}}
		_, event, err := do(t.Context(), newExecutor(t, p, &idempotent.Config{Lease: 10 * time.Second}), returns(""))
		if err != nil || event.Outcome != idempotent.OutcomeTakeover || !event.Lapsed {
			t.Errorf("%v, %+v", err, event)
		}
	})
}

// A takeover that another call won is not reported as one.
func TestReplayAfterALostTakeoverIsNotLapsed(t *testing.T) {
	store := abandoned(t)
	raced := false
	p := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, _ driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if !raced {
			raced = true
			if _, _, err := do(context.Background(), newExecutor(t, store, &idempotent.Config{Observer: idempotent.NoObserver{}}), returns("theirs")); err != nil {
				t.Error(err)
			}
		}
		return next()
	}}
	value, event, err := do(t.Context(), newExecutor(t, p, nil), mustNotRun(t))
	if err != nil || value != "theirs" || event.Lapsed || event.Outcome != idempotent.OutcomeReplayed {
		t.Errorf("%q, %v, %+v", value, err, event)
	}
}
