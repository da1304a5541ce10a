package crashtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// A Trial is one run of a handler in this process.
type Trial struct {
	// Deliver delivers the event once, as to a new process: it creates the
	// executor with this store, and calls the wrapped handler. Required.
	Deliver func(ctx context.Context, store driver.Store) error
	// Check returns an error if the effects of the trial are wrong. Required.
	Check func() error
	// Crashes is the largest number of crashes in one run. With 2, a retry
	// crashes too, at each of its own points. Default: 1.
	Crashes int
	// Final reports whether the trigger does not deliver the event again
	// after this error of Deliver. Default: only after nil and the errors that
	// wrap idempotent.ErrReplayed, ErrOutcomeUnknown, ErrKeyReused or ErrKeyExpired.
	Final func(error) bool
	// KillsOnly omits the frozen processes. Default false.
	KillsOnly bool
}

// RunHandler is like [PlayHandler]. It logs the report, and fails the test with the
// first points where the check failed.
func RunHandler(t *testing.T, trial func() Trial) {
	t.Helper()
	report := PlayHandler(t, trial)
	t.Logf("%v", report)
	if err := report.Err(); err != nil {
		t.Errorf("%v", err)
	}
}

// PlayHandler crashes a handler between any two of its effects, without a server and
// without waiting: each run has a store in memory and a clock of its own.
//
// The points are the calls to the store, and the calls of [Effect]. The function trial
// returns a new trial for every run: one undisturbed run, and up to four for each
// point. At its point a process is killed or frozen, before the call to the store or
// after it. A killed one does nothing any more. A frozen one continues after a retry
// has been answered. PlayHandler delivers the event to new processes until one returns
// a final answer, and the lease passes meanwhile. It then delivers the event once more,
// as a duplicate, and calls Check.
//
// A crash stops a goroutine at its next point. So call Effect before every effect of a
// handler that sleeps or starts goroutines, and hold no lock while calling it. The
// renewal of a lease is no point. Goroutines of the handler must end when
// its context is done. Transactions need a server: see [Play].
//
// The runs use testing/synctest. Therefore PlayHandler must not be called in one of
// its bubbles, and the handler must not wait for anything outside of its run.
func PlayHandler(t *testing.T, trial func() Trial) Report {
	t.Helper()
	began := time.Now()
	r := Report{Name: t.Name()}
	play := func(plan []strike) (b *bubble) {
		watch(stuck, func() { panic(stuckMessage(t.Name())) }, func() {
			synctest.Test(t, func(*testing.T) {
				b = newBubble(plan, trial())
				b.run()
			})
		})
		if b == nil {
			t.FailNow() // as trial has
		}
		return b
	}
	calm := play(nil)
	r.Results = []Result{calm.result}
	if calm.result.Broken == nil && calm.result.Err == nil {
		plans := [][]strike{nil}
		for range max(calm.trial.Crashes, 1) {
			var next [][]strike
			for _, plan := range plans {
				for _, b := range longer(plan, play) {
					r.Results = append(r.Results, b.result)
					next = append(next, b.plan)
				}
			}
			plans = next
		}
	}
	r.Took = time.Since(began)
	return r
}

// longer plays all plans that have one more crash than this one.
func longer(plan []strike, play func([]strike) *bubble) (all []*bubble) {
	number := 0
	if len(plan) > 0 {
		number = plan[len(plan)-1].number
	}
	for {
		// A retry may meet other points than the undisturbed run.
		number++
		for crash := KilledBefore; crash <= FrozenAfter; crash++ {
			if crash > KilledBefore && !all[len(all)-1].canHave(crash) {
				continue
			}
			b := play(append(slices.Clip(plan), strike{number, crash}))
			if b.struck() {
				all = append(all, b)
			} else if crash == KilledBefore {
				return all
			}
		}
	}
}

// stuck is the real time after which a run of milliseconds does not end any more.
const stuck = time.Minute

// watch calls late if run does not return in time. The test would otherwise hang
// until the time limit of all tests, without a hint.
func watch(limit time.Duration, late, run func()) {
	timer := time.AfterFunc(limit, late)
	defer timer.Stop()
	run()
}

func stuckMessage(name string) string {
	return "crashtest: a run of " + name + " does not end: a crashed process holds a lock, or the handler waits for " +
		"something outside of its run. Do not call Effect with a lock held."
}

// canHave reports whether the last point of the plan can have a crash. Nothing lies
// between the moments before and after an effect.
func (b *bubble) canHave(c Crash) bool {
	if b.effect && (c == KilledAfter || c == FrozenAfter) {
		return false
	}
	return c < FrozenBefore || !b.trial.KillsOnly
}

// finalError is the default of Trial.Final.
func finalError(err error) bool {
	return err == nil || errors.Is(err, idempotent.ErrReplayed) || errors.Is(err, idempotent.ErrOutcomeUnknown) ||
		errors.Is(err, idempotent.ErrKeyReused) || errors.Is(err, idempotent.ErrKeyExpired)
}
