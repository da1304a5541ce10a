package crashtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/crashtest"
)

// cards charges cards, once for each key.
type cards struct {
	mu      sync.Mutex
	charges map[string]int
}

var errCharged = errors.New("charged")

func (c *cards) charge(ctx context.Context, key string) {
	crashtest.Effect(ctx, "charge")
	c.mu.Lock()
	defer c.mu.Unlock()
	if key == "" {
		key = rand.Text()
	}
	c.charges[key]++
}

// anew charges without a key.
func anew(ctx context.Context, c *cards) error {
	c.charge(ctx, "")
	return nil
}

// keyed charges with the key of the call.
func keyed(ctx context.Context, c *cards) error {
	c.charge(ctx, idempotent.DownstreamKey(ctx, "charge"))
	return nil
}

func (c *cards) charged(times int) error {
	if n := len(c.charges); n != times {
		return fmt.Errorf("%w %d times", errCharged, n)
	}
	return nil
}

// paying is a trial of a protected handler.
func paying(config idempotent.Config, pay func(context.Context, *cards) error) func() crashtest.Trial {
	config.Observer = idempotent.NoObserver{}
	return func() crashtest.Trial {
		c := &cards{charges: map[string]int{}}
		return crashtest.Trial{
			Deliver: func(ctx context.Context, store driver.Store) error {
				x, err := idempotent.New("pay", store, &config)
				if err != nil {
					return err
				}
				_, err = idempotent.Do(ctx, x, idempotent.Key{ID: "p-1"}, func(ctx context.Context) (string, error) {
					return "receipt", pay(ctx, c)
				})
				return err
			},
			Check: func() error { return c.charged(1) },
		}
	}
}

// with changes the trials of a function.
func with(trial func() crashtest.Trial, change func(*crashtest.Trial)) func() crashtest.Trial {
	return func() crashtest.Trial {
		one := trial()
		change(&one)
		return one
	}
}

// broken lists where the check failed.
func broken(r crashtest.Report) (all []string) {
	for _, result := range r.Results {
		if result.Broken != nil {
			all = append(all, fmt.Sprint(result.Crash, " ", result.Call))
		}
	}
	return all
}

func isBrokenAt(t *testing.T, r crashtest.Report, want ...string) {
	t.Helper()
	check.Slice(t, broken(r), want)
	check.Equal(t, r.Err() != nil, len(want) > 0)
	for _, result := range r.Results {
		check.Nil(t, result.Err, result.Crash, result.Call)
	}
}

func TestHandlerChargesTwiceWithoutAKey(t *testing.T) {
	r := crashtest.PlayHandler(t, paying(idempotent.Config{}, anew))
	isBrokenAt(t, r, "frozen before charge", "killed before complete", "frozen before complete")
	all, n := r.Points()
	check.Equal(t, all, 10)
	check.Equal(t, n, 3)
	e := check.As[*crashtest.BrokenError](t, r.Err())
	check.Is(t, e, errCharged)
	check.Equal(t, len(e.Results), 3)
	text := strings.Join(strings.Fields(r.String()), " ")
	for _, want := range []string{
		t.Name() + " call crash retries answer invariant all never 0 ok holds 1 claim killed before 1 ok holds",
		"2 charge frozen before 6 ok BROKEN: charged 2 times", "10 points, broken at 3, in",
	} {
		check.Contains(t, text, want)
	}
}

// An effect that nobody marks lies between two calls to the store.
func TestUnmarkedEffectIsFoundThroughTheStore(t *testing.T) {
	r := crashtest.PlayHandler(t, paying(idempotent.Config{}, func(_ context.Context, c *cards) error {
		return anew(t.Context(), c)
	}))
	isBrokenAt(t, r, "killed before complete", "frozen before complete")
}

func TestHandlerChargesOnceWithADownstreamKey(t *testing.T) {
	crashtest.RunHandler(t, paying(idempotent.Config{}, keyed))
	crashtest.RunHandler(t, paying(idempotent.Config{RefuseLate: true, ProviderMemory: 24 * time.Hour}, keyed))
}

// A step is repeated only if its attempt crashed between its effect and its record.
func TestStepIsRepeatedBeforeItIsRecorded(t *testing.T) {
	r := crashtest.PlayHandler(t, paying(idempotent.Config{}, func(ctx context.Context, c *cards) error {
		_, err := idempotent.Step(ctx, "charge", func(ctx context.Context) (any, error) {
			return nil, anew(ctx, c)
		})
		return err
	}))
	isBrokenAt(t, r, "frozen before charge", `killed before step "charge"`, `frozen before step "charge"`)
}

// The charges have no key, as if a provider forgot them at once: no attempt is the
// second one. After one without a record of its end, a person is asked.
func TestNeverRunTwiceHolds(t *testing.T) {
	for answer, config := range map[string]idempotent.Config{
		"idempotent: all attempts": {MaxAttempts: 1}, "idempotent: the first attempt": {ProviderMemory: 30 * time.Second},
	} {
		r := crashtest.PlayHandler(t, with(paying(config, anew), func(one *crashtest.Trial) {
			check := one.Check
			one.Check = func() error {
				if err := check(); !errors.Is(err, errCharged) || !strings.Contains(err.Error(), "charged 0") {
					return err
				}
				return nil // and a person is asked
			}
		}))
		isBrokenAt(t, r)
		asked := 0
		for _, result := range r.Results {
			if strings.HasPrefix(result.Answer, answer) {
				asked++
			}
		}
		check.Equal(t, asked, 6, "times a person is asked:", answer)
	}
}

// selling is a trial of a saga that fails for good. Its refunds may have keys.
func selling(keys bool) func() crashtest.Trial {
	return func() crashtest.Trial {
		c, refunds := &cards{charges: map[string]int{}}, &cards{charges: map[string]int{}}
		trial := paying(idempotent.Config{}, func(ctx context.Context, _ *cards) error {
			_, err := idempotent.SagaStep(ctx, "charge",
				func(ctx context.Context) (any, error) {
					return nil, keyed(ctx, c)
				},
				func(ctx context.Context, _ any) error {
					key := ""
					if keys {
						key = idempotent.DownstreamKey(ctx, "refund")
					}
					refunds.charge(ctx, key)
					return nil
				})
			if err != nil {
				return err
			}
			return idempotent.Permanent(errors.New("sold out"))
		})()
		trial.Check = func() error { return errors.Join(c.charged(1), refunds.charged(1)) }
		return trial
	}
}

func TestSagaIsUndoneTwiceWithoutAKey(t *testing.T) {
	r := crashtest.PlayHandler(t, selling(false))
	isBrokenAt(t, r, "frozen before charge", `killed before step ":undo:charge"`, `frozen before step ":undo:charge"`)
}

// Neither one crash nor two undo a saga twice, or leave it half undone.
func TestSagaIsUndoneOnceWithAKey(t *testing.T) {
	r := crashtest.PlayHandler(t, with(selling(true), func(one *crashtest.Trial) { one.Crashes = 2 }))
	isBrokenAt(t, r)
	all, _ := r.Points()
	check.True(t, all >= 500, all)
}

func TestKillsOnlyFreezesNothing(t *testing.T) {
	trial := paying(idempotent.Config{}, anew)
	r := crashtest.PlayHandler(t, with(trial, func(one *crashtest.Trial) { one.KillsOnly = true }))
	isBrokenAt(t, r, "killed before complete")
	all, _ := r.Points()
	check.Equal(t, all, 5)
}

// A third attempt is one that only two crashes lead to.
func TestRetryCrashesToo(t *testing.T) {
	trial := paying(idempotent.Config{}, func(ctx context.Context, c *cards) error {
		if claim, _ := idempotent.FromContext(ctx); claim.Attempt > 2 {
			return anew(ctx, c)
		}
		return keyed(ctx, c)
	})
	isBrokenAt(t, crashtest.PlayHandler(t, trial))

	r := crashtest.PlayHandler(t, with(trial, func(one *crashtest.Trial) { one.Crashes, one.KillsOnly = 2, true }))
	isBrokenAt(t, r, "killed before complete", "killed before complete", "killed after take over", "killed before charge", "killed before complete")
	want := "; killed before 3 complete, then killed after 10 take over: charged 2 times; "
	err := r.Err()
	check.Says(t, err, want)
	text := r.String()
	check.Contains(t, text, "10 take over, after killed before 3 complete  killed after ")
	check.True(t, strings.Count(text, "\n") <= 20, strings.Count(text, "\n"))
}

// A killed process neither runs its deferred functions nor lets its other goroutines
// go on.
func TestKilledProcessDoesNothingAnyMore(t *testing.T) {
	r := crashtest.PlayHandler(t, func() crashtest.Trial {
		c, deferred := &cards{charges: map[string]int{}}, 0
		trial := paying(idempotent.Config{}, func(ctx context.Context, _ *cards) error {
			defer func() { deferred++ }()
			done := make(chan struct{})
			go func() {
				defer close(done)
				time.Sleep(10 * time.Second)
				_ = anew(ctx, c)
			}()
			c.charge(ctx, idempotent.DownstreamKey(ctx, "another"))
			<-done
			return nil
		})()
		trial.KillsOnly = true
		trial.Check = func() error {
			if deferred != 1 {
				return fmt.Errorf("deferred functions ran %d times", deferred)
			}
			return c.charged(2)
		}
		return trial
	})
	// The deferred function has run, and the next attempt repeats it.
	isBrokenAt(t, r, "killed before complete")
}

// A heartbeat comes at a time, and not at a place of the code.
func TestRenewalOfALeaseIsNoPoint(t *testing.T) {
	r := crashtest.PlayHandler(t, paying(idempotent.Config{}, func(ctx context.Context, c *cards) error {
		time.Sleep(5 * time.Minute)
		return keyed(ctx, c)
	}))
	isBrokenAt(t, r)
	all, _ := r.Points()
	check.Equal(t, all, 10)
}

func TestPanicEndsTheProcess(t *testing.T) {
	r := crashtest.PlayHandler(t, func() crashtest.Trial {
		c, panicked := &cards{charges: map[string]int{}}, false
		trial := paying(idempotent.Config{}, func(ctx context.Context, _ *cards) error {
			if !panicked {
				panicked = true
				panic("not ready")
			}
			return keyed(ctx, c)
		})()
		trial.Check = func() error { return c.charged(1) }
		return trial
	})
	isBrokenAt(t, r)
	check.Equal(t, r.Results[0].Retries, 1)
}

func TestHandlerThatNeverAnswersIsAnError(t *testing.T) {
	errDown := errors.New("the bank is down")
	r := crashtest.PlayHandler(t, paying(idempotent.Config{}, func(context.Context, *cards) error { return errDown }))
	err := r.Err()
	check.Is(t, err, errDown)
	check.Says(t, err, "undisturbed: no final answer in 1h0m0s")
}

// The crashed process goes on only when its trial is over.
func TestRetryThatNeverAnswersIsAnError(t *testing.T) {
	errTaken := errors.New("does not take over")
	r := crashtest.PlayHandler(t, paying(idempotent.Config{}, func(ctx context.Context, c *cards) error {
		if claim, _ := idempotent.FromContext(ctx); claim.Takeover() {
			return errTaken
		}
		return anew(ctx, c)
	}))
	failed := 0
	for _, result := range r.Results {
		if errors.Is(result.Err, errTaken) {
			failed++
		}
	}
	check.Equal(t, failed, 6)
	check.Is(t, r.Err(), errTaken)
}
