package durable_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/proof/durable"
)

var cardKey = idempotent.Key{ID: "card of o-1"}

// charging returns a handler whose step calls Do with the context that as makes.
func (w *world) charging(as func(context.Context) context.Context, fn func(context.Context) (string, error)) func(*durable.Context, order) (string, error) {
	cards := w.executor("charge")
	return func(c *durable.Context, _ order) (string, error) {
		return durable.Step(c, "charge", func(ctx context.Context) (string, error) {
			return idempotent.Do(as(ctx), cards, cardKey, fn)
		})
	}
}

func named(name string) func(context.Context) context.Context {
	return func(ctx context.Context) context.Context { return durablefunc.InStep(ctx, name) }
}

func unnamed(ctx context.Context) context.Context { return ctx }

func TestRepeatedStepEntersItsOwnClaim(t *testing.T) {
	everyStore(t, func(w *world) {
		w.deploy(w.charging(named("charge"), w.crashingOnce()))
		began := time.Now()
		w.wantSuccess(w.deliver("first"))
		if took := time.Since(began); took > 20*time.Second {
			w.Errorf("it took %v", took)
		}
		w.wantEffects(2) // with one downstream key
	})
}

// Entering the claim again would be a second attempt.
func TestRepeatedStepIsAnotherAttempt(t *testing.T) {
	inMemory(t, func(w *world) {
		var runs atomic.Int64
		w.config = &idempotent.Config{MaxAttempts: 1}
		handler := w.charging(named("charge"), func(ctx context.Context) (string, error) {
			runs.Add(1)
			w.bank.charge(ctx, "card")
			durable.Crash(ctx)
			return "", nil
		})
		w.config = &idempotent.Config{}
		w.deploy(handler)
		first := w.Start("first", theOrder)
		for range 3 {
			_, _ = first.Once(w.Context())
			time.Sleep(time.Minute)
		}
		check.Equal(w, runs.Load(), 1, "runs with MaxAttempts: 1")
	})
}

// A call within has an owner and a lease of its own.
func TestCallWithinAnExecutionDoesNotInheritItsClaim(t *testing.T) {
	inMemory(t, func(w *world) {
		charge := w.crashingOnce()
		w.deploy(w.charging(unnamed, func(ctx context.Context) (string, error) {
			if r := w.record("charge", cardKey); time.Until(r.Lease) > time.Minute || r.Owner == w.paid().Owner {
				w.Errorf("its record is %+v", r)
			}
			return charge(ctx)
		}))
		first := w.Start("first", theOrder)
		_, _ = first.Once(w.Context())
		if _, err := first.Once(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.wantEffects(1) // the step is to be repeated, after its dead claim
	})
}

func TestStepWhoseSuccessIsNotRecordedReplaysItsCall(t *testing.T) {
	everyStore(t, func(w *world) {
		crashed := false
		w.Pass = func(ctx context.Context, checkpoint string, apply func() (string, error)) (string, error) {
			if checkpoint == "STEP SUCCEEDED charge" && !crashed {
				crashed = true
				durable.Crash(ctx)
			}
			return apply()
		}
		w.deploy(w.charging(named("charge"), func(ctx context.Context) (string, error) { return w.bank.charge(ctx, "card"), nil }))
		w.wantSuccess(w.deliver("first"))
		w.wantEffects(1)
	})
}

// The names tell the steps apart, so that one waits for the other.
func TestParallelStepsDoNotShareAFence(t *testing.T) {
	inMemory(t, func(w *world) {
		cards, met := w.executor("charge"), make(chan struct{})
		var meet sync.Once
		branch := func(name string) func(*durable.Context) error {
			return func(c *durable.Context) error {
				_, err := durable.Step(c, name, func(ctx context.Context) (string, error) {
					receipt, err := idempotent.Do(durablefunc.InStep(ctx, name), cards, cardKey, func(ctx context.Context) (string, error) {
						select {
						case <-met:
							return w.bank.charge(ctx, "card"), nil
						case <-ctx.Done():
							return "", errors.New("the other step runs, too")
						}
					})
					if errors.Is(err, idempotent.ErrInProgress) {
						meet.Do(func() { close(met) })
					}
					return receipt, err
				})
				return err
			}
		}
		w.deploy(func(c *durable.Context, _ order) (string, error) {
			return "", durable.Branches(c, branch("left"), branch("right"))
		})
		w.wantSuccess(w.deliver("first"))
		select {
		case <-met:
		default:
			w.Error("no step was refused")
		}
		w.wantEffects(1)
	})
}

// An ordinary error of a step is settled as that of any call: the SDK repeats
// the step, and a later execution may use the key.
func TestErrorOfAStepReleasesItsKey(t *testing.T) {
	inMemory(t, func(w *world) {
		runs := 0
		w.deploy(w.charging(named("charge"), func(ctx context.Context) (string, error) {
			if runs++; runs < 3 {
				return "", fmt.Errorf("declined %d times", runs)
			}
			return w.bank.charge(ctx, "card"), nil
		}))
		if _, err := w.Start("first", theOrder).Once(w.Context()); err != nil {
			w.Fatal(err)
		}
		if r := w.record("charge", cardKey); r.Owner != "" || r.Status != driver.InProgress {
			w.Errorf("it left %+v", r)
		}
	})
}

// The invocation is over, and its successor may be in the same step.
func TestErrorOfAThawedStepReleasesNothing(t *testing.T) {
	for name, fail := range map[string]func() (string, error){
		"error":     func() (string, error) { return "", errors.New("reset") },
		"permanent": func() (string, error) { return "", idempotent.Permanent(errors.New("declined")) },
		"panic":     func() (string, error) { panic("thawed") },
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				thaw, proceed := make(chan struct{}), make(chan struct{})
				var runs atomic.Int64
				w.deploy(w.charging(named("charge"), func(ctx context.Context) (string, error) {
					if runs.Add(1) == 1 {
						<-thaw
						return fail()
					}
					<-proceed
					return w.bank.charge(ctx, "card"), nil
				}))
				done := make(chan string, 1)
				go func() { done <- w.wantSuccess(w.deliver("first")) }()
				time.Sleep(w.Timeout + 11*time.Second) // the successor runs
				close(thaw)
				synctest.Wait()
				_, err := idempotent.Do(w.Context(), w.executor("charge"), cardKey, func(context.Context) (string, error) { return "", nil })
				if runs.Load() != 2 || !errors.Is(err, idempotent.ErrInProgress) {
					w.Errorf("after %d runs, another call got %v", runs.Load(), err)
				}
				close(proceed)
				<-done
				w.wantEffects(1)
			})
		})
	}
}

// The handler is run from its beginning again and again, so a step of Once would
// be one of many invocations, and a transaction be built anew in each.
func TestStepsAndTransactionsOfADurableFunctionItselfAreRefused(t *testing.T) {
	inMemory(t, func(w *world) {
		w.deploy(func(c *durable.Context, _ order) (string, error) {
			_, _ = idempotent.Step(c, "charge", func(context.Context) (int, error) { t.Error("it ran"); return 0, nil })
			return "", nil
		})
		if _, err := w.Start("steps", theOrder).Once(w.Context()); !errors.Is(err, idempotent.ErrStep) {
			w.Errorf("got %v", err)
		}
	})
	inMemory(t, func(w *world) {
		w.deploy(func(c *durable.Context, _ order) (string, error) {
			driver.Attach(c, func() *entries { return nil })
			return "", nil
		})
		answer, err := w.Start("transactions", theOrder).Once(w.Context())
		if err != nil || answer.Status != "FAILED" {
			w.Errorf("%v, %v", answer, err)
		}
	})
}

// Without a key there is no record, and still one execution.
func TestExecutionWithoutAKeyHasTheSameDownstreamKeysInEachInvocation(t *testing.T) {
	inMemory(t, func(w *world) {
		w.config.OnMissingKey = idempotent.RunMissingKey
		keys := map[string]bool{}
		w.deploy(func(c *durable.Context, o order) (string, error) {
			keys[idempotent.DownstreamKey(c, "charge")] = true
			return w.pay(c, o)
		})
		for _, name := range []string{"first", "second"} {
			w.wantSuccess(w.Start(name, `{}`).Run(w.Context()))
		}
		check.Equal(w, len(keys), 2, "keys of two executions")
	})
}

// DynamoDB has transactions, so that an executor can be optimistic.
func TestDurableFunctionIsNotOptimistic(t *testing.T) {
	store, err := dynamo.New(dynamodb.New(dynamodb.Options{}), "records", nil)
	check.Must(t, err)
	x, err := idempotent.New("pay", store, &idempotent.Config{Optimistic: true})
	check.Must(t, err)
	var refused *driver.ConfigError
	if err := adapter.CheckExecutions(x, time.Hour); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}
