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
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// inBackground runs a call whose handler runs for a while.
func inBackground(t *testing.T, x *idempotent.Executor, takes time.Duration, value string, end error) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		r := try(context.Background(), t, x, func(context.Context) (string, error) {
			time.Sleep(takes)
			return value, end
		})
		if end == nil {
			r.returned(value)
		}
	}()
	synctest.Wait()
	return done
}

func TestWaitIsBounded(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
	gone := errors.New("the client has gone")
	for name, test := range map[string]struct {
		wait     time.Duration
		deadline time.Duration
		leaves   time.Duration
		want     time.Duration
	}{
		"by Config.Wait":                  {10 * time.Second, time.Hour, time.Hour, 10 * time.Second},
		"by the invocation, less Reserve": {forEver, 10 * time.Second, time.Hour, 9500 * time.Millisecond},
		"by its context":                  {forEver, time.Hour, time.Second, time.Second},
		"by none: the other ends first":   {forEver, time.Hour, time.Hour, 0},
	} {
		for _, sameProcess := range []bool{true, false} {
			bubble(t, name, func(t *testing.T) {
				store := memory.New(0)
				x := newExecutor(t, store, &idempotent.Config{Wait: test.wait})
				other := x
				if !sameProcess {
					other = newExecutor(t, store, nil)
				}
				done := inBackground(t, other, time.Minute, "theirs", nil)
				begun := time.Now()
				ctx, cancel := context.WithCancelCause(during(t, test.deadline))
				time.AfterFunc(test.leaves, func() { cancel(gone) })
				r := try(ctx, t, x, mustNotRun(t))
				if test.want == 0 {
					r.returned("theirs").ended(idempotent.OutcomeReplayed)
					took(t, begun, 0, 62*time.Second)
					check.True(t, r.event.RoundTrips <= 130, r.event.RoundTrips)
				} else {
					r.is(idempotent.ErrInProgress)
					check.Equal(t, time.Since(begun), test.want, sameProcess)
					check.Equal(t, errors.Is(r.err, gone), test.leaves == test.want, name)
				}
				<-done
			})
		}
	}
}

// A waiting duplicate takes over as soon as the lease has lapsed by more than
// the skew.
func TestWaitTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		crash(t, store)
		lapse := stored(t, store).Lease.Add(time.Second)
		x := newExecutor(t, store, &idempotent.Config{Wait: forEver})
		try(t.Context(), t, x, returns("ours")).returned("ours").attempt(2)
		late := time.Since(lapse)
		check.True(t, late > 0, late)
		check.True(t, late <= 50*time.Millisecond, late)
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
				r := try(context.Background(), t, x, mustNotRun(t)).returned("shared").roundTrips(0).ended(idempotent.OutcomeReplayed)
				check.True(t, r.event.Joined)
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
				check.Nil(t, err)
				check.Equal(t, value["n"], 1)
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
		bubble(t, name, func(t *testing.T) {
			x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: forEver})
			var group sync.WaitGroup
			group.Go(func() {
				defer func() {
					check.Equal(t, recover() != nil, name == "panic")
				}()
				try(context.Background(), t, x, lead).failed()
			})
			synctest.Wait()
			runs := 0
			for range 10 {
				group.Go(func() {
					try(context.Background(), t, x, func(context.Context) (string, error) {
						runs++
						time.Sleep(time.Second)
						return "second", nil
					}).returned("second")
				})
			}
			group.Wait()
			check.Equal(t, runs, 1, "joiners ran")
		})
	}
}

// Another payload is refused within a process as it is across processes.
func TestJoinComparesPayloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExecutor(t, memory.New(0), &idempotent.Config{Wait: forEver})
		done := inBackground(t, x, time.Minute, "first", nil)
		begun := time.Now()
		tryKey(t.Context(), t, x, otherPayload, mustNotRun(t)).is(idempotent.ErrKeyReused)
		check.Equal(t, time.Since(begun), 0)
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
		bubble(t, name, func(t *testing.T) {
			store := memory.New(0)
			done := inBackground(t, newExecutor(t, store, nil), time.Minute, "theirs", nil)
			begun := time.Now()
			x := newExecutor(t, store, &idempotent.Config{Wait: test.config})
			try(adapter.With(t.Context(), adapter.Wait(test.own)), t, x, mustNotRun(t)).is(idempotent.ErrInProgress)
			waited := time.Since(begun)
			check.Equal(t, waited, test.want)
			<-done
		})
	}
}

// Config.Wait bounds the wait although a read hangs.
func TestWaitIsBoundedWhenGetHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		done := inBackground(t, newExecutor(t, store, nil), 10*time.Minute, "x", nil)
		begun := time.Now()
		_, _, _ = do(during(t, 5*time.Minute), newExecutor(t, silent{gets: true}.over(store), &idempotent.Config{Wait: 2 * time.Second}), mustNotRun(t))
		took(t, begun, 0, 10*time.Second)
		<-done
	})
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
				left := time.Until(stored(t, store).Lease)
				check.True(t, left >= 59*time.Second, left)
				value, err := stubborn(40*time.Second, &running, &most)(ctx)
				check.Nil(t, ctx.Err(), "the handler's context ended within 40 s of a lease of 1 min with heartbeat")
				return value, err
			})
			check.Nil(t, err)
			check.True(t, event.Store <= time.Second, event.Store)
		}()
		<-first
		time.Sleep(15 * time.Second) // 65 s: the joiner has run for 15 s
		try(t.Context(), t, newExecutor(t, store, &idempotent.Config{Lease: time.Minute}), stubborn(0, &running, &most)).is(idempotent.ErrInProgress)
		check.True(t, most.Load() <= 1, most.Load(), "two handlers ran at once, with healthy clocks and store")
		<-joiner
	})
}
