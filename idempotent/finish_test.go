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

// meanwhile runs a handler, and others while it runs: as if its process had
// been frozen past its lease.
func meanwhile(t *testing.T, x *idempotent.Executor, end error, others func()) (string, *idempotent.Event, error) {
	t.Helper()
	return do(t.Context(), x, func(context.Context) (string, error) {
		time.Sleep(time.Minute)
		others()
		return "zombie", end
	})
}

// frozen keeps the heartbeat of a zombie from the store.
func frozen(store driver.Store) *proxy {
	return &proxy{Store: store, change: func(_ context.Context, _ driver.Fence, c driver.Change, next func() (driver.Record, bool, error)) (driver.Record, bool, error) {
		if !c.Lease.IsZero() && c.Owner == "" {
			return driver.Record{}, false, errNetwork
		}
		return next()
	}}
}

func TestZombies(t *testing.T) {
	tryAgain, final := errors.New("try again"), idempotent.Permanent(errors.New("final"))
	for _, test := range []struct {
		name      string
		successor func(context.Context) (string, error)
		end       error // of the zombie's handler
		value     string
		err       error
		outcome   idempotent.Outcome
		then      string // what a later retry gets
	}{
		{"success after a success", returns("theirs"), nil, "theirs", nil, idempotent.OutcomeLeaseLost, "theirs"},
		{"error after a success", returns("theirs"), tryAgain, "theirs", nil, idempotent.OutcomeLeaseLost, "theirs"},
		{"failure after a success", returns("theirs"), final, "theirs", nil, idempotent.OutcomeLeaseLost, "theirs"},
		{"success after a failure", failsWith(final), nil, "", idempotent.ErrReplayed, idempotent.OutcomeLeaseLost, ""},
		{"success after a release", failsWith(tryAgain), nil, "zombie", nil, idempotent.OutcomeExecuted, "zombie"},
		{"failure after a release", failsWith(tryAgain), final, "", errors.Unwrap(final), idempotent.OutcomeFailed, ""},
		{"error after a release", failsWith(tryAgain), tryAgain, "", tryAgain, idempotent.OutcomeTimedOut, "later"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(0)
				config := &idempotent.Config{Lease: 10 * time.Second}
				x := newExecutor(t, frozen(store), config)
				value, event, err := meanwhile(t, x, test.end, func() {
					_, event, err := do(context.Background(), newExecutor(t, store, config), test.successor)
					if event.Attempt != 2 {
						t.Errorf("the successor did not take over: %v, %+v", err, event)
					}
				})
				if value != test.value || !errors.Is(err, test.err) || event.Outcome != test.outcome {
					t.Errorf("got %q, %v, %+v", value, err, event)
				}
				value, _, err = do(t.Context(), newExecutor(t, store, config), returns("later"))
				if value != test.then || (err == nil) != (test.then != "") {
					t.Errorf("a later retry gets %q, %v", value, err)
				}
			})
		})
	}
}

// While another owns the record, a zombie can neither complete, fail, release
// nor extend, and its caller is told to ask for the other's answer.
func TestZombieMeetsALiveOwner(t *testing.T) {
	for _, end := range []error{nil, errors.New("try again"), idempotent.Permanent(errors.New("final"))} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			config := &idempotent.Config{Lease: 10 * time.Second}
			release, done := make(chan struct{}), make(chan struct{})
			var before driver.Record
			value, event, err := meanwhile(t, newExecutor(t, frozen(store), config), end, func() {
				claimed := make(chan struct{})
				go func() {
					defer close(done)
					value, _, err := do(context.Background(), newExecutor(t, store, config), func(context.Context) (string, error) {
						close(claimed)
						<-release
						return "theirs", nil
					})
					if err != nil || value != "theirs" {
						t.Errorf("the owner got %q, %v", value, err)
					}
				}()
				<-claimed
				before = stored(t, store)
			})
			var lost *idempotent.LeaseLostError
			if !errors.As(err, &lost) || lost.Attempt != 1 || value != "" || event.Outcome != idempotent.OutcomeLeaseLost {
				t.Errorf("end %v: got %q, %v, %+v", end, value, err, event)
			}
			if after := stored(t, store); after.Owner != before.Owner || after.Attempt != 2 || after.Status != driver.InProgress {
				t.Errorf("end %v: the owner's record became %+v", end, after)
			}
			close(release)
			<-done
		})
	}
}

// The record may have vanished: its retention over, or released by a successor
// with no trace. The work is done, so it is put back as completed.
func TestCompleteRecreatesAVanishedRecord(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	value, _, err := do(t.Context(), x, func(context.Context) (string, error) {
		if err := store.Put(driver.Record{ID: recordID(t, theKey)}); err != nil {
			t.Error(err)
		}
		return "done", nil
	})
	if err != nil || value != "done" {
		t.Errorf("got %q, %v", value, err)
	}
	if value, _, err := do(t.Context(), x, mustNotRun(t)); err != nil || value != "done" {
		t.Errorf("then %q, %v", value, err)
	}
	other := theKey
	other.Payload = 2
	if _, err := idempotent.Do(t.Context(), x, other, mustNotRun(t)); !errors.Is(err, idempotent.ErrKeyReused) {
		t.Errorf("the fingerprint was lost: %v", err)
	}
}

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

// A foreign writer knows no fence. If it has changed the result under our
// token, what is stored is what every caller gets.
func TestCompleteGivesWhatIsStored(t *testing.T) {
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

// Nothing is released after a success, and a store that stays away is tried
// until the lease ends.
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

// The client that has gone is no reason to leave the work unrecorded.
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

// The work is done: it must not be done again because its result has no form.
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

func TestReplayIntoAnotherType(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	if _, _, err := do(t.Context(), x, returns("text")); err != nil {
		t.Fatal(err)
	}
	_, err := idempotent.Do(t.Context(), x, theKey, func(context.Context) (int, error) {
		t.Error("it ran")
		return 0, nil
	})
	var unavailable *idempotent.ResultUnavailableError
	if !errors.As(err, &unavailable) || unavailable.Err == nil {
		t.Errorf("got %v", err)
	}
}

// Finished steps stand in the way of a deletion, and stay for the next owner.
func TestReleaseKeepsFinishedSteps(t *testing.T) {
	store := memory.New(0)
	x := newExecutor(t, store, nil)
	first := errors.New("try again")
	_, _, err := do(t.Context(), x, func(context.Context) (string, error) {
		r := stored(t, store)
		if _, ok, err := store.Change(t.Context(), driver.Fence{ID: r.ID, Owner: r.Owner}, driver.Change{Steps: map[string][]byte{"charge": []byte("1")}}); !ok || err != nil {
			t.Errorf("step: %v, %v", ok, err)
		}
		return "", first
	})
	if err != first {
		t.Error(err)
	}
	if r := stored(t, store); len(r.Steps) != 1 || r.Owner != "" || !r.Lease.Equal(driver.LeaseEnded) {
		t.Errorf("released: %+v", r)
	}
	if value, event, err := do(t.Context(), x, returns("second")); err != nil || value != "second" || event.Attempt != 2 {
		t.Errorf("second: %q, %v, %+v", value, err, event)
	}
}

// A release that fails is told to the observer; the caller gets the handler's
// error.
func TestReleaseThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, &proxy{Store: memory.New(0), change: func(context.Context, driver.Fence, driver.Change, func() (driver.Record, bool, error)) (driver.Record, bool, error) {
			return driver.Record{}, false, errNetwork
		}}, nil)
		first := errors.New("try again")
		_, event, err := do(t.Context(), x, failsWith(first))
		if err != first || !errors.Is(event.Err, first) || !errors.Is(event.Err, errNetwork) {
			t.Errorf("got %v, %+v", err, event)
		}
	})
}
