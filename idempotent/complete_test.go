package idempotent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// A completion whose answer was lost is written again, and its second copy
// meets its own: that is a success.
func TestCompleteMeetsItsOwnCopy(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault changeHook
	}{
		{"not sent", func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errNetwork
		}},
		{"answer lost", func(_ context.Context, _ driver.Fence, _ driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if _, ok, err := next(); !ok || err != nil {
				return driver.Record{}, ok, err
			}
			return driver.Record{}, false, errNetwork
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := 3
				store := memory.New(0)
				x := newExecutor(t, &proxy{Store: store, change: func(ctx context.Context, f driver.Fence, change driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
					if faults--; faults >= 0 {
						return c.fault(ctx, f, change, next)
					}
					return next()
				}}, nil)
				value, event, err := do(t.Context(), x, returns("done"))
				if err != nil || value != "done" || event.Outcome != idempotent.OutcomeExecuted {
					t.Errorf("got %q, %v, %+v", value, err, event)
				}
			})
		})
	}
}

// A foreign writer knows no fence. If it has changed the result under this
// call's token, every caller receives what is stored.
func TestCompleteReturnsWhatIsStored(t *testing.T) {
	store := memory.New(0)
	lost := true
	x := newExecutor(t, &proxy{Store: store, change: func(_ context.Context, f driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if !lost {
			return next()
		}
		lost = false
		if _, ok, err := next(); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		r := stored(t, store)
		r.Data = []byte(`"theirs"`)
		if err := store.Put(r); err != nil {
			t.Error(err)
		}
		return driver.Record{}, false, errNetwork
	}}, nil)
	value, _, err := do(t.Context(), x, returns("ours"))
	if err != nil || value != "theirs" {
		t.Errorf("got %q, %v", value, err)
	}
}

// Nothing is released after a success. An unreachable store is tried until the
// lease ends.
func TestCompleteTriesUntilTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writes []driver.Change
		x := newExecutor(t, &proxy{Store: memory.New(0), change: func(_ context.Context, _ driver.Fence, c driver.Change, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			writes = append(writes, c)
			return driver.Record{}, false, errNetwork
		}}, &idempotent.Config{Lease: 10 * time.Second})
		begun := time.Now()
		value, event, err := do(t.Context(), x, returns("done"))
		var failed *idempotent.StoreError
		if !errors.As(err, &failed) || !failed.Executed || value != "" || event.Outcome != idempotent.OutcomeUnknown {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
		if tried := time.Since(begun); tried < 9*time.Second || tried > 11*time.Second || len(writes) < 5 {
			t.Errorf("%d tries in %v", len(writes), tried)
		}
		for _, c := range writes {
			if c.Release != 0 || c.Status != driver.Completed {
				t.Errorf("wrote %+v", c)
			}
		}
	})
}

// A denied completion is repeated, because the work is done, but no more often
// than a person could change the permission. What may pass by itself is repeated
// until the lease ends.
func TestDeniedCompletionIsRepeatedForHalfAMinute(t *testing.T) {
	const lease = 2 * time.Minute
	for _, c := range []struct {
		name        string
		err         error
		least, most int           // tries
		last        time.Duration // the last try is in the second before it
	}{
		{"denied", driver.ErrDenied, 15, 35, 30 * time.Second},
		{"expired credentials", errors.New("the credentials have expired"), 100, 300, lease},
		{"throttled", driver.ErrThrottled, 100, 300, lease},
		{"not reached", errNetwork, 100, 300, lease},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tries []time.Duration
				begun := time.Now()
				x := newExecutor(t, &proxy{Store: memory.New(0), change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
					tries = append(tries, time.Since(begun))
					return driver.Record{}, false, c.err
				}}, &idempotent.Config{Lease: lease})
				_, event, err := do(t.Context(), x, returns("done"))
				var failed *idempotent.StoreError
				if !errors.As(err, &failed) || !failed.Executed || !errors.Is(err, c.err) || event.Outcome != idempotent.OutcomeUnknown {
					t.Errorf("%v, %+v", err, event)
				}
				if len(tries) < c.least || len(tries) > c.most {
					t.Errorf("%d tries, want %d to %d", len(tries), c.least, c.most)
				}
				if last := tries[len(tries)-1]; last > c.last || last < c.last-2*time.Second {
					t.Errorf("the last try came after %v, want %v", last, c.last)
				}
				for i := 1; c.err == driver.ErrDenied && i < len(tries); i++ {
					if pause := tries[i] - tries[i-1]; pause > 2*time.Second+1 || i > 6 && pause < time.Second {
						t.Errorf("try %d came %v after the one before", i+1, pause)
					}
				}
			})
		})
	}
}

// The work is recorded although the client has gone.
func TestCompleteOutlivesTheCaller(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	ctx, cancel := context.WithCancel(t.Context())
	value, _, err := do(ctx, x, func(context.Context) (string, error) {
		cancel()
		return "done", nil
	})
	if err != nil || value != "done" || stored(t, store).Status != driver.Completed {
		t.Errorf("got %q, %v, %+v", value, err, stored(t, store))
	}
}

type unencodable struct{ panics bool }

func (u unencodable) MarshalJSON() ([]byte, error) {
	if u.panics {
		panic("boom")
	}
	return nil, errors.New("no form")
}

// The work is done. It is not repeated because its result cannot be encoded.
func TestCompleteWithoutAnEncodableResult(t *testing.T) {
	for _, u := range []unencodable{{panics: false}, {panics: true}} {
		x := newExecutor(t, memory.New(0), nil)
		ctx, event := adapter.WithEvent(t.Context())
		_, err := idempotent.Do(ctx, x, theKey, func(context.Context) (unencodable, error) { return u, nil })
		if err != nil || event.Outcome != idempotent.OutcomeExecuted || !errors.Is(event.Err, idempotent.ErrResultUnavailable) {
			t.Errorf("first: %v, %+v", err, event)
		}
		_, err = idempotent.Do(t.Context(), x, theKey, func(context.Context) (unencodable, error) {
			t.Error("it ran again")
			return u, nil
		})
		if !errors.Is(err, idempotent.ErrResultUnavailable) {
			t.Errorf("second: %v", err)
		}
	}
}

// A store may refuse for a moment, while credentials are renewed or a role
// changes.
func TestCompleteOutlastsAShortRefusal(t *testing.T) {
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

// A result that the store cannot hold is reported to the observer, as one that
// cannot be encoded is.
func TestEventReportsADroppedResult(t *testing.T) {
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

// After an overrun with a small Reserve, the completion is sent at least once.
func TestCompletionIsSentOnceDespiteATinyReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: 10 * time.Second, Reserve: time.Nanosecond}
		slow := &proxy{Store: store, change: func(ctx context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			if isExtend(c) {
				return driver.Record{}, false, errNetwork
			}
			select { // a round trip
			case <-time.After(10 * time.Millisecond):
				return next()
			case <-ctx.Done():
				return driver.Record{}, false, ctx.Err()
			}
		}}
		_, _, err := do(t.Context(), newExecutor(t, slow, config), func(context.Context) (string, error) {
			time.Sleep(11 * time.Second)
			return "done", nil
		})
		if err != nil {
			t.Errorf("the store is well again, the record still ours, and the work is done: %v", err)
		}
	})
}

// In a Lambda function the call returns before the process is stopped, although
// the result is not recorded.
func TestFinishGivesUpBeforeTheInvocationEnds(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for name, config := range map[string]*idempotent.Config{
		"default": {}, "with a lease": {Lease: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &proxy{Store: memory.New(0), change: func(ctx context.Context, _ driver.Fence, _ driver.Change, _ func() (driver.Record, bool, error)) (driver.Record, bool, error) {
					return driver.Record{}, false, errors.New("AccessDeniedException: dynamodb:UpdateItem")
				}}
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				_, event, err := do(ctx, newExecutor(t, p, config), func(context.Context) (string, error) {
					time.Sleep(time.Second)
					return "charged", nil
				})
				if since := time.Since(begun); since >= 30*time.Second {
					t.Errorf("answers after %v of an invocation of 30 s: %v, %d calls", since, err, event.RoundTrips)
				}
			})
		})
	}
}

// Another library completes a record without data when its function returns
// nothing. The zero value would pass for a result.
func TestRecordWithoutDataHasNoResult(t *testing.T) {
	store := memory.New(0)
	err := store.Put(driver.Record{ID: recordID(t, theKey), Status: driver.Completed, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*idempotent.Config{"": nil, "cached": {CacheEntries: 1}} {
		x := newExecutor(t, store, config)
		for range 2 {
			value, event, err := do(t.Context(), x, mustNotRun(t))
			lost, ok := err.(*idempotent.ResultUnavailableError)
			if !ok || lost.Failed || lost.KeyHash != event.KeyHash || lost.Reason == "" || value != "" || event.Outcome != idempotent.OutcomeReplayed {
				t.Errorf("%s: %q, %v, %+v", name, value, err, event)
			}
		}
		_, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) (any, error) { return mustNotRun(t)(t.Context()) })
		if !errors.Is(err, idempotent.ErrResultUnavailable) {
			t.Errorf("%s: an any: %v", name, err)
		}
		// Where there is nothing to know, nothing is missing.
		if _, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) (struct{}, error) { return struct{}{}, nil }); err != nil {
			t.Errorf("%s: a struct{}: %v", name, err)
		}
		effect := idempotent.WrapEffect(x, func(k idempotent.Key) (idempotent.Key, error) { return k, nil },
			func(context.Context, idempotent.Key) error { t.Error("it ran"); return nil })
		if err := effect(t.Context(), theKey); err != nil {
			t.Errorf("%s: an effect: %v", name, err)
		}
	}
}
