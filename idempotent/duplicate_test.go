package idempotent_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// inBackground runs a call whose handler runs for a while.
func inBackground(t *testing.T, x *idempotent.Executor, takes time.Duration, value string, end error) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		got, _, err := do(context.Background(), x, func(context.Context) (string, error) {
			time.Sleep(takes)
			return value, end
		})
		if end == nil && (err != nil || got != value) {
			t.Errorf("the first call got %q, %v", got, err)
		}
	}()
	synctest.Wait()
	return done
}

func TestWaitForTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		done := inBackground(t, newExecutor(t, store, nil), time.Minute, "theirs", nil)
		x := newExecutor(t, store, &idempotent.Config{Wait: forEver})
		begun := time.Now()
		value, event, err := do(t.Context(), x, mustNotRun(t))
		if err != nil || value != "theirs" || event.Outcome != idempotent.OutcomeReplayed {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
		if waited := time.Since(begun); waited > 62*time.Second || event.RoundTrips > 130 {
			t.Errorf("waited %v with %d calls", waited, event.RoundTrips)
		}
		<-done
	})
}

func TestWaitIsBounded(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	for name, test := range map[string]struct {
		wait     time.Duration
		deadline time.Duration
		want     time.Duration
	}{
		"by Config.Wait":                   {10 * time.Second, time.Hour, 10 * time.Second},
		"by the invocation, less Reserve":  {forEver, 10 * time.Second, 9500 * time.Millisecond},
		"by neither: the other ends first": {forEver, time.Hour, 0},
	} {
		for _, sameProcess := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := memory.New(0)
					x := newExecutor(t, store, &idempotent.Config{Wait: test.wait})
					other := x
					if !sameProcess {
						other = newExecutor(t, store, nil)
					}
					done := inBackground(t, other, time.Minute, "theirs", nil)
					ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
					defer cancel()
					begun := time.Now()
					value, _, err := do(ctx, x, mustNotRun(t))
					waited := time.Since(begun)
					if test.want == 0 && (err != nil || value != "theirs") || test.want > 0 && (!errors.Is(err, idempotent.ErrInProgress) || waited != test.want) {
						t.Errorf("same process %v: after %v: %q, %v", sameProcess, waited, value, err)
					}
					<-done
				})
			})
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	for _, sameProcess := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(0)
			x := newExecutor(t, store, &idempotent.Config{Wait: forEver})
			other := x
			if !sameProcess {
				other = newExecutor(t, store, nil)
			}
			done := inBackground(t, other, time.Minute, "theirs", nil)
			gone := errors.New("the client has gone")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(gone) })
			begun := time.Now()
			_, _, err := do(ctx, x, mustNotRun(t))
			if !errors.Is(err, idempotent.ErrInProgress) || !errors.Is(err, gone) || time.Since(begun) != time.Second {
				t.Errorf("same process %v: after %v: %v", sameProcess, time.Since(begun), err)
			}
			<-done
		})
	}
}

// A waiting duplicate takes over as soon as the lease has lapsed by more than
// the skew.
func TestWaitTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		crash(t, store, newExecutor(t, store, nil))
		lapse := stored(t, store).Lease.Add(time.Second)
		x := newExecutor(t, store, &idempotent.Config{Wait: forEver})
		value, event, err := do(t.Context(), x, returns("ours"))
		if err != nil || value != "ours" || event.Attempt != 2 {
			t.Errorf("got %q, %v, %+v", value, err, event)
		}
		if late := time.Since(lapse); late <= 0 || late > 50*time.Millisecond {
			t.Errorf("it took over %v after it could", late)
		}
	})
}

// Identical calls in one process share one execution.
func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		x := newExecutor(t, store, &idempotent.Config{Wait: forEver})
		done := inBackground(t, x, time.Minute, "shared", nil)
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				value, event, err := do(context.Background(), x, mustNotRun(t))
				if err != nil || value != "shared" || !event.Joined || event.RoundTrips != 0 || event.Outcome != idempotent.OutcomeReplayed {
					t.Errorf("got %q, %v, %+v", value, err, event)
				}
			})
		}
		group.Wait()
		<-done
	})
}

// Joiners decode for themselves: a change to one's result is invisible to the
// others.
func TestJoinersShareNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: forEver})
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				value, err := idempotent.Do(context.Background(), x, theKey, func(context.Context) (map[string]int, error) {
					time.Sleep(time.Second)
					return map[string]int{"n": 1}, nil
				})
				if err != nil || value["n"] != 1 {
					t.Errorf("got %v, %v", value, err)
				}
				value["n"]++
			})
		}
		group.Wait()
	})
}

// A joiner whose leader fails, panics or is refused calls again.
func TestJoinersCallAgainAfterTheirLeaderFails(t *testing.T) {
	for name, lead := range map[string]func(context.Context) (string, error){
		"error": func(context.Context) (string, error) { time.Sleep(time.Second); return "", errors.New("try again") },
		"panic": func(context.Context) (string, error) { time.Sleep(time.Second); panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: forEver})
				var group sync.WaitGroup
				group.Go(func() {
					defer func() {
						if p := recover(); (p != nil) != (name == "panic") {
							t.Errorf("recovered %v", p)
						}
					}()
					if _, _, err := do(context.Background(), x, lead); err == nil {
						t.Error("the leader succeeded")
					}
				})
				synctest.Wait()
				runs := 0
				for range 10 {
					group.Go(func() {
						value, _, err := do(context.Background(), x, func(context.Context) (string, error) {
							runs++
							time.Sleep(time.Second)
							return "second", nil
						})
						if err != nil || value != "second" {
							t.Errorf("got %q, %v", value, err)
						}
					})
				}
				group.Wait()
				if runs != 1 {
					t.Errorf("%d joiners ran", runs)
				}
			})
		})
	}
}

// Another payload is refused within a process as it is across processes.
func TestJoinComparesPayloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: forEver})
		done := inBackground(t, x, time.Minute, "first", nil)
		other := theKey
		other.Payload = 2
		begun := time.Now()
		if _, err := idempotent.Do(t.Context(), x, other, mustNotRun(t)); !errors.Is(err, idempotent.ErrKeyReused) || time.Since(begun) != 0 {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		<-done
	})
}

func TestWaitOfAnAdapterCounts(t *testing.T) {
	for name, test := range map[string]struct {
		config, own, want time.Duration
	}{
		"no wait configured": {0, 10 * time.Second, 10 * time.Second},
		"a shorter one":      {5 * time.Second, 10 * time.Second, 10 * time.Second},
		"a longer one":       {10 * time.Second, 5 * time.Second, 5 * time.Second},
		"it is switched off": {10 * time.Second, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(0)
				done := inBackground(t, newExecutor(t, store, nil), time.Minute, "theirs", nil)
				begun := time.Now()
				x := newExecutor(t, store, &idempotent.Config{Wait: test.config})
				_, _, err := do(adapter.With(t.Context(), adapter.Settings{Wait: new(test.own)}), x, mustNotRun(t))
				if waited := time.Since(begun); !errors.Is(err, idempotent.ErrInProgress) || waited != test.want {
					t.Errorf("after %v: %v", waited, err)
				}
				<-done
			})
		})
	}
}

// A handler that calls Do itself waits as configured for that Executor.
func TestWaitOfAnAdapterCountsEndsAtTheHandler(t *testing.T) {
	for _, config := range []time.Duration{0, 10 * time.Second} {
		withWaitEndsAtTheHandler(t, config)
	}
}

func withWaitEndsAtTheHandler(t *testing.T, config time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		done := inBackground(t, newExecutor(t, store, nil), time.Minute, "theirs", nil)
		outer, err := idempotent.New("outer", store, nil)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		x := newExecutor(t, store, &idempotent.Config{Wait: config})
		_, err = idempotent.Do(adapter.With(t.Context(), adapter.Settings{Wait: new(time.Hour)}), outer, idempotent.Key{ID: "k"}, func(ctx context.Context) (string, error) {
			value, _, err := do(ctx, x, mustNotRun(t))
			return value, err
		})
		if !errors.Is(err, idempotent.ErrInProgress) || time.Since(begun) != config {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		<-done
	})
}

// A waiting call runs when a foreign record without a lease expires.
func TestWaitEndsWhenARecordWithoutLeaseExpires(t *testing.T) {
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

// Config.Wait bounds the wait although a read hangs.
func TestWaitIsBoundedWhenGetHangs(t *testing.T) {
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

// A joiner that leads after the first leader failed counts its lease from its
// own claim.
func TestJoinerThatLeadsClaimsAFullLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		config := &idempotent.Config{Lease: time.Minute, Wait: time.Hour}
		x := newExecutor(t, store, config)
		first := inBackground(t, x, 50*time.Second, "", errors.New("try again"))
		var running, most atomic.Int32
		joiner := make(chan struct{})
		go func() {
			defer close(joiner)
			_, event, err := do(context.Background(), x, func(ctx context.Context) (string, error) {
				if left := time.Until(stored(t, store).Lease); left < 59*time.Second {
					t.Errorf("a fresh claim has a lease of %v", left)
				}
				value, err := stubborn(40*time.Second, &running, &most)(ctx)
				if ctx.Err() != nil {
					t.Errorf("the handler's context ended within 40 s of a lease of 1 min with heartbeat: %v", context.Cause(ctx))
				}
				return value, err
			})
			if err != nil {
				t.Error(err)
			}
			if event.Store > time.Second {
				t.Errorf("Event.Store is %v, which is the wait for the leader", event.Store)
			}
		}()
		<-first
		time.Sleep(15 * time.Second) // 65 s: the joiner has run for 15 s
		_, event, err := do(t.Context(), newExecutor(t, store, &idempotent.Config{Lease: time.Minute}), stubborn(0, &running, &most))
		if !errors.Is(err, idempotent.ErrInProgress) {
			t.Errorf("another process got %v, %+v", err, event)
		}
		if most.Load() > 1 {
			t.Error("two handlers ran at once, with healthy clocks and store")
		}
		<-joiner
	})
}
