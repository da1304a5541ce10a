package durable_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/proof/durable"
)

// The clock of a paused execution may stand still. Its lease, and the retention of its
// record, run on.
func TestPausedExecutionIsNotTakenOver(t *testing.T) {
	inMemory(t, func(w *world) {
		w.asks()
		w.deploy(w.pay)
		first := w.suspended()
		first.Pause()
		duplicate := w.Start("duplicate", theOrder)
		for range 30 { // days
			time.Sleep(25 * time.Hour)
			if running := w.wantConflict(duplicate); !running.Until.IsZero() || !strings.Contains(running.Error(), "paused") {
				w.Errorf("got %v", running)
			}
			if r := w.paid(); r.Expired(time.Now()) {
				w.Fatal("the record has expired")
			}
			// It has an end of its own, too.
			duplicate = w.Start("duplicate", theOrder)
		}
		first.Resume()
		w.wantOneResult(first, duplicate)
	})
}

// While the service waits for the next checkpoint of an invocation, and after it has
// answered that without a token.
func TestExecutionThatIsPausedDuringAnInvocationKeepsItsClaim(t *testing.T) {
	inMemory(t, func(w *world) {
		w.asks()
		charged := make(chan *durable.Execution)
		w.deploy(func(c *durable.Context, o order) (string, error) {
			return durable.Step(c, "charge", func(ctx context.Context) (string, error) {
				receipt := w.bank.charge(ctx, "charge")
				if first := durable.ExecutionOf(ctx); first.Name == "first" {
					charged <- first
					<-charged
				}
				return receipt, nil
			})
		})
		first := w.Start("first", theOrder)
		done := make(chan error, 1)
		go func() {
			answer, err := first.Once(w.Context())
			if err == nil && answer.Status != "PENDING" {
				err = errors.New(answer.Status)
			}
			done <- err
		}()
		<-charged
		first.Pause()
		if status, _, _ := w.Describe(first.ARN); status != "PAUSING" {
			w.Error(status)
		}
		charged <- nil
		check.Nil(w, <-done)
		if status, _, _ := w.Describe(first.ARN); status != "PAUSED" {
			w.Error(status)
		}
		time.Sleep(25 * time.Hour)
		duplicate := w.Start("duplicate", theOrder)
		w.wantConflict(duplicate)
		first.Resume()
		w.wantConflict(duplicate) // it runs for as long as it had left
		w.wantOneResult(first, duplicate)
	})
}

// An execution that has ended without success does not come back.
func TestExecutionThatHasEndedIsTakenOver(t *testing.T) {
	for name, end := range map[string]func(w *world, first *durable.Execution){
		"stopped":   func(_ *world, first *durable.Execution) { first.Stop() },
		"timed out": func(*world, *durable.Execution) {},
		"unknown":   func(w *world, first *durable.Execution) { w.Forget(first.ARN) },
		"failed": func(w *world, first *durable.Execution) { // by the service
			invoke := w.Invoke
			w.Invoke = func(context.Context, []byte) ([]byte, error) { return []byte(`{"statusCode":200}`), nil }
			if _, err := first.Once(w.Context()); err == nil {
				w.Error("the service accepts a response that has no status")
			}
			w.Invoke = invoke
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				service := w.asks()
				w.deploy(w.pay)
				end(w, w.suspended())
				time.Sleep(25 * time.Hour)
				w.wantSuccess(w.deliver("duplicate"))
				check.Equal(w, service.calls.Load(), 1, "times asked")
				w.wantEffects(2) // with one downstream key
			})
		})
	}
}

// An answer that says nothing for certain decides nothing.
func TestExecutionOfUnknownStateIsNotTakenOver(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(context.Context, durablefunc.Execution) (durablefunc.Execution, error)
		err    error
	}{
		"denied": {func(context.Context, durablefunc.Execution) (durablefunc.Execution, error) {
			return durablefunc.Execution{}, apiError("AccessDeniedException")
		}, durablefunc.ErrService},
		"silent": {func(ctx context.Context, _ durablefunc.Execution) (durablefunc.Execution, error) {
			<-ctx.Done()
			return durablefunc.Execution{}, ctx.Err()
		}, durablefunc.ErrService},
		"another status": {func(context.Context, durablefunc.Execution) (durablefunc.Execution, error) {
			return durablefunc.Execution{Status: "MIGRATING"}, nil
		}, nil},
		"no status": {func(context.Context, durablefunc.Execution) (durablefunc.Execution, error) {
			return durablefunc.Execution{}, nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.Timeout = 6 * time.Second
				service := w.asks()
				w.deploy(w.pay)
				first := w.suspended()
				time.Sleep(25 * time.Hour)
				before, began := w.paid(), time.Now()
				service.answer = test.answer
				duplicate := w.Start("duplicate", theOrder)
				running := w.wantConflict(duplicate)
				if test.err != nil && (!errors.Is(running, test.err) || !strings.Contains(running.Error(), "GetDurableExecution")) {
					w.Errorf("got %v", running)
				}
				if took := time.Since(began); took > w.Timeout/2 {
					w.Errorf("it took %v of the invocation", took)
				}
				if after := w.paid(); after.Owner != before.Owner || !after.Lease.Equal(before.Lease) {
					w.Errorf("%+v became %+v", before, after)
				}
				service.answer = nil // and first has timed out
				w.run(duplicate)
				if status, _ := first.Run(w.Context()); status != "TIMED_OUT" {
					w.Error(status)
				}
			})
		})
	}
}

// What completed the execution was not Once, which then knows nothing of it. Its work
// is done, and its result is that of all.
func TestExecutionThatHasSucceededIsNeverTakenOver(t *testing.T) {
	succeeded := func(w *world) *durable.Execution {
		pay := durable.Wrap(w.Service, 1000, w.pay)
		w.deploy(w.pay)
		first, invoke := w.suspended(), w.Invoke
		w.Invoke = pay
		w.run(first)
		w.Invoke = invoke
		time.Sleep(25 * time.Hour)
		return first
	}
	t.Run("with a result", func(t *testing.T) {
		inMemory(t, func(w *world) {
			service := w.asks()
			first := succeeded(w)
			_, want, _ := w.Describe(first.ARN)
			for _, name := range []string{"duplicate", "another"} {
				check.Equal(w, w.wantSuccess(w.deliver(name)), want, name)
				w.Forget(first.ARN) // the record has it
			}
			if r := w.paid(); r.Status != driver.Completed || r.Attempt != 1 || service.calls.Load() != 1 {
				w.Errorf("%d calls, and %+v", service.calls.Load(), r)
			}
			check.Equal(w, w.events.count(idempotent.OutcomeReplayed), 2, "replays")
			w.wantEffects(1)
		})
	})
	t.Run("without a result", func(t *testing.T) {
		inMemory(t, func(w *world) {
			service := w.asks()
			succeeded(w)
			before := w.paid()
			service.answer = func(_ context.Context, e durablefunc.Execution) (durablefunc.Execution, error) {
				return durablefunc.Execution{Status: e.Status}, nil
			}
			for range 2 {
				w.wantFailure("duplicate", "OutcomeUnknownError")
			}
			if after := w.paid(); after.Owner != before.Owner || after.Status != driver.InProgress {
				w.Errorf("it left %+v", after)
			}
			w.wantEffects(1)
		})
	})
}

// Without the interface, a claim is taken over when it ends, as its documentation says.
func TestPausedExecutionIsTakenOverIfNothingAsks(t *testing.T) {
	inMemory(t, func(w *world) {
		w.ExecutionTimeout = w.timeout
		w.deploy(w.pay)
		first := w.suspended()
		first.Pause()
		time.Sleep(25 * time.Hour)
		w.asks()
		w.deploy(w.pay) // the claim does not say whose it is
		w.wantSuccess(w.deliver("duplicate"))
		w.wantEffects(2) // with one downstream key
	})
}

// With MaxAttempts, a person would decide about an execution that is only paused.
func TestPausedExecutionIsNotTheLastWithMaxAttempts(t *testing.T) {
	inMemory(t, func(w *world) {
		w.config.MaxAttempts = 1
		w.asks()
		w.deploy(w.pay)
		first := w.suspended()
		first.Pause()
		time.Sleep(25 * time.Hour)
		w.wantConflict(w.Start("duplicate", theOrder))
		first.Stop()
		w.wantFailure("duplicate", "OutcomeUnknownError")
		w.wantEffects(1)
	})
}

// An execution continues after the deployment that lets it ask, and after the one that
// no longer does.
func TestExecutionFindsItsClaimAfterADeploymentThatAsks(t *testing.T) {
	for name, asksFirst := range map[string]bool{"asks": false, "asks no longer": true} {
		t.Run(name, func(t *testing.T) {
			everyStore(t, func(w *world) {
				w.asks()
				asks := w.options
				if !asksFirst {
					w.options = nil
				}
				w.deploy(w.pay)
				first := w.suspended()
				if w.options = asks; asksFirst {
					w.options = nil
				}
				w.deploy(w.pay)
				w.wantConflict(w.Start("duplicate", theOrder))
				if answer, err := first.Once(w.Context()); err != nil {
					w.Fatal(answer, err)
				}
				w.run(first)
				if errs := first.Errors(); len(errs) > 0 {
					w.Errorf("invocations failed: %v", errs)
				}
				w.wantEffects(1)
			})
		})
	}
}

// A step's claim ends with its execution's, and is paused with it. A success of the
// execution says nothing of a step that it has left behind.
func TestStepOfAPausedExecutionIsNotTakenOver(t *testing.T) {
	for name, end := range map[string]func(w *world, first *durable.Execution){
		"stopped": func(_ *world, first *durable.Execution) { first.Stop() },
		"succeeded": func(w *world, first *durable.Execution) {
			invoke := w.Invoke
			w.Invoke = func(context.Context, []byte) ([]byte, error) {
				return []byte(`{"Status":"SUCCEEDED","Result":"1"}`), nil
			}
			first.Resume()
			w.run(first)
			w.Invoke = invoke
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.asks()
				w.deploy(w.charging(named("charge"), w.crashingOnce()))
				first := w.Start("first", theOrder)
				if _, err := first.Once(w.Context()); err == nil {
					w.Fatal("it did not crash")
				}
				first.Pause()
				time.Sleep(25 * time.Hour)
				second := w.Start("second", `{"ID":"o-2"}`) // with the same card
				w.wantPending(second)                       // the SDK is going to repeat the step
				w.wantEffects(1)
				end(w, first)
				w.run(second)
				w.wantEffects(2)
			})
		})
	}
}
