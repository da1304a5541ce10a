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
)

// A zombie adopts a record that was made for another payload: its result
// becomes the answer to that payload.
func TestAdoptsAnotherPayloadsRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 10 * time.Second, Retention: time.Second}
		second := theKey
		second.Payload = 2
		noRelease := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if c.Release != 0 {
				return driver.Record{}, false, errNetwork
			}
			return next()
		}}
		fails := failsWith(errors.New("try again"))
		value, event, err := meanwhile(t, newExecutor(t, frozen(store), config), nil, func() {
			// The first payload's record is over. The second one's first
			// attempt crashes, and its second is released.
			_, _ = idempotent.Do(context.Background(), newExecutor(t, noRelease, config), second, fails)
			time.Sleep(11*time.Second + 5*time.Millisecond)
			_, _ = idempotent.Do(context.Background(), newExecutor(t, store, config), second, fails)
			if r := stored(t, store); r.Attempt != 2 || r.Owner != "" || r.Status != driver.InProgress {
				t.Fatalf("the test is wrong: %+v", r)
			}
		})
		t.Logf("the zombie got %q, %v, %+v", value, err, event)
		got, err := idempotent.Do(t.Context(), newExecutor(t, store, config), second, returns("second payload's"))
		if err == nil && got != "second payload's" {
			t.Errorf("the second payload is answered with the first one's result: %q", got)
		}
	})
}

// Likewise a zombie's caller gets another payload's answer.
func TestAnswersWithAnotherPayloadsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 10 * time.Second, Retention: time.Second}
		second := theKey
		second.Payload = 2
		value, event, err := meanwhile(t, newExecutor(t, frozen(store), config), nil, func() {
			_, _ = idempotent.Do(context.Background(), newExecutor(t, store, &idempotent.Config{}), second, returns("second payload's"))
		})
		if err == nil && value == "second payload's" {
			t.Errorf("the first payload is answered with the second one's result: %+v", event)
		}
	})
}

// DESIGN 4: "tried at least once …, then until the deadline". A store that
// refuses for a moment (credentials being renewed, a role being changed) ends
// the tries within some 60 ms, with the work done and 50 s of lease left.
func TestCompletionGivesUpEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		var since time.Time
		p := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, _ driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if time.Since(since) < 2*time.Second {
				return driver.Record{}, false, errors.New("get identity: failed to refresh cached credentials")
			}
			return next()
		}}
		_, _, err := do(t.Context(), newExecutor(t, p, nil), func(context.Context) (string, error) {
			since = time.Now()
			return "charged", nil
		})
		if err != nil {
			t.Errorf("gave up after %v: %v", time.Since(since), err)
		}
	})
}

// A release that landed, its answer lost, is not a lease that was lost.
func TestReleaseWhoseAnswerWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		var successor chan struct{}
		p := &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if c.Release == 0 || successor != nil {
				return next()
			}
			_, _, _ = next()
			successor = inBackground(t, newExecutor(t, store, nil), time.Minute, "next", nil)
			return driver.Record{}, false, errNetwork
		}}
		declined := errors.New("declined")
		_, event, err := do(t.Context(), newExecutor(t, p, nil), failsWith(declined))
		if !errors.Is(err, declined) {
			t.Errorf("the handler's error became %v (%s)", err, event.Outcome)
		}
		<-successor
	})
}

// A full Memory has records that are over, but refuses to put a vanished
// record back: done work is not recorded.
func TestFullMemoryRefusesDoneWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(1)
		_, _, err := do(t.Context(), newExecutor(t, store, nil), func(context.Context) (string, error) {
			_ = store.Put(driver.Record{ID: recordID(t, theKey)})
			_ = store.Put(driver.Record{ID: "other", Status: driver.Completed, Expires: time.Now().Add(-time.Hour)})
			return "done", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// claimsFail is a store whose claims are not answered: for runs that fail open.
func claimsFail(store driver.Store) *proxy {
	return &proxy{Store: store, create: func(_ context.Context, r driver.Record, _ time.Time, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if r.Status == driver.InProgress {
			return driver.Record{}, false, errNetwork
		}
		return next()
	}}
}

// What a run that failed open meets at its end was never compared with its
// payload: another payload's result passes for its own, in both directions.
func TestFailOpenMixesPayloads(t *testing.T) {
	second := theKey
	second.Payload = 2
	open := &idempotent.Config{OnStoreError: idempotent.FailOpen}
	t.Run("gets the other's result", func(t *testing.T) {
		store := memory.New(0)
		_, _, _ = do(t.Context(), newExecutor(t, store, nil), returns("first payload's"))
		got, err := idempotent.Do(t.Context(), newExecutor(t, claimsFail(store), open), second, returns("second payload's"))
		if err == nil && got != "second payload's" {
			t.Errorf("the second payload is answered with %q", got)
		}
	})
	t.Run("leaves its result to the other", func(t *testing.T) {
		store := memory.New(0)
		// The first payload's second attempt was released: the record stays.
		counting := newExecutor(t, store, &idempotent.Config{MaxAttempts: 5})
		_, _, _ = do(t.Context(), counting, failsWith(errors.New("try again")))
		_, err := idempotent.Do(t.Context(), newExecutor(t, claimsFail(store), open), second, returns("second payload's"))
		got, _, err2 := do(t.Context(), counting, returns("first payload's"))
		if err2 == nil && got != "first payload's" {
			t.Errorf("the first payload is answered with %q (the run that failed open got %v)", got, err)
		}
	})
}

// A run that failed open gets the result of a record that has been over for
// two days and that TTL has not deleted yet; its own is not recorded.
func TestFailOpenMeetsWhatIsOver(t *testing.T) {
	store := memory.New(0)
	if err := store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.Completed, Owner: "x", Attempt: 1,
		Expires: time.Now().Add(-48 * time.Hour), Data: []byte(`"of the day before yesterday"`)}); err != nil {
		t.Fatal(err)
	}
	x := newExecutor(t, claimsFail(store), &idempotent.Config{OnStoreError: idempotent.FailOpen})
	if got, event, err := do(t.Context(), x, returns("today's")); err != nil || got != "today's" {
		t.Errorf("got %q, %v, %+v", got, err, event)
	}
	if got, _, err := do(t.Context(), newExecutor(t, store, nil), returns("second run")); err != nil || got != "today's" {
		t.Errorf("done work was not recorded and ran again: %q, %v", got, err)
	}
}

// A result that the store could not hold is dropped without a word: the first
// sign of it is a replay. One that could not be encoded is told to the observer.
func TestDroppedResultIsNotObserved(t *testing.T) {
	store := memory.New(0)
	p := &proxy{Store: store, change: func(ctx context.Context, f driver.Fence, c driver.Change, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if c.Data != nil {
			c.Data, c.Unavailable = nil, "too large" // as Change.Data says a store does
		}
		return store.Change(ctx, f, c)
	}}
	_, event, err := do(t.Context(), newExecutor(t, p, nil), returns("large"))
	if err != nil || !errors.Is(event.Err, idempotent.ErrResultUnavailable) {
		t.Errorf("%v, %+v", err, event)
	}
}

// An adopted record gets no fingerprint: the cache refuses what the store replays.
func TestAdoptionWithoutFingerprint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 10 * time.Second}
		if _, _, err := meanwhile(t, newExecutor(t, frozen(store), config), nil, func() {
			_ = store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.InProgress, Attempt: 2, Lease: driver.LeaseEnded, Expires: time.Now().Add(time.Hour)})
		}); err != nil {
			t.Fatal(err)
		}
		second := theKey
		second.Payload = 2
		got, err := idempotent.Do(t.Context(), newExecutor(t, store, config), second, mustNotRun(t))
		if !errors.Is(err, idempotent.ErrKeyReused) {
			t.Errorf("another payload gets %q, %v", got, err)
		}
	})
}

// "Err is what the caller got, or what was passed over": here neither.
func TestHandlersErrorIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		mine := errors.New("mine")
		var done chan struct{}
		_, event, err := meanwhile(t, newExecutor(t, frozen(store), &idempotent.Config{Lease: 10 * time.Second}), mine, func() {
			done = inBackground(t, newExecutor(t, store, nil), time.Minute, "next", nil)
			time.Sleep(time.Second)
		})
		if !errors.Is(err, mine) && !errors.Is(event.Err, mine) {
			t.Errorf("nobody hears of the handler's error: %v; %v", err, event.Err)
		}
		<-done
	})
}
