package durable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/proof/durable"
)

// Each delivery is an execution of its own. The service repeats the invocation
// of those that meet the first, until they receive its result.
func TestDuplicatesOfASuspendedExecutionReceiveItsResult(t *testing.T) {
	everyStore(t, func(w *world) {
		w.deploy(w.pay)
		first := w.suspended()
		var duplicates [200]*durable.Execution
		var results [len(duplicates)]string
		var all sync.WaitGroup
		for i := range duplicates {
			all.Go(func() {
				time.Sleep(w.hour * time.Duration(i) / time.Duration(len(duplicates)))
				duplicates[i] = w.Start(fmt.Sprint("duplicate-", i), theOrder)
				if _, err := duplicates[i].Once(w.Context()); !errors.Is(err, idempotent.ErrInProgress) {
					w.Errorf("duplicate %d got %v", i, err)
				}
			})
		}
		all.Wait()
		for i, duplicate := range duplicates {
			all.Go(func() { results[i] = w.run(duplicate) })
		}
		want := w.run(first)
		all.Wait()
		for i, duplicate := range duplicates {
			if others := len(duplicate.Errors()) - conflicts(duplicate); results[i] != want || others > 0 {
				w.Errorf("duplicate %d: %s, %d other errors; the first %s", i, results[i], others, want)
			}
		}
		w.wantEffects(1)
	})
}

// What a handler makes of a suspension says nothing: the response counts.
func TestSuspendedExecutionKeepsItsClaim(t *testing.T) {
	charge := func(w *world, c *durable.Context) (string, error) {
		return durable.Step(c, "charge", func(ctx context.Context) (string, error) { return w.bank.charge(ctx, "charge"), nil })
	}
	for name, handler := range map[string]func(w *world, c *durable.Context) (string, error){
		"in the handler": func(w *world, c *durable.Context) (string, error) { return w.pay(c, order{}) },
		"swallowed by the handler": func(w *world, c *durable.Context) (string, error) {
			receipt, err := charge(w, c)
			if waited := durable.Wait(c, "wait", w.hour); waited != nil {
				return "never mind", nil
			}
			return receipt, err
		},
		"wrapped by the handler": func(w *world, c *durable.Context) (string, error) {
			receipt, err := charge(w, c)
			if waited := durable.Wait(c, "wait", w.hour); waited != nil {
				return "", idempotent.Permanent(fmt.Errorf("declined: %w", waited))
			}
			return receipt, err
		},
		"in a child context": func(w *world, c *durable.Context) (receipt string, err error) {
			err = durable.Branches(c,
				func(c *durable.Context) error { return durable.Wait(c, "wait", w.hour) },
				func(c *durable.Context) (err error) { receipt, err = charge(w, c); return err },
			)
			return receipt, err
		},
		"in a child context that swallows it": func(w *world, c *durable.Context) (receipt string, err error) {
			err = durable.Branches(c,
				func(c *durable.Context) error { _ = durable.Wait(c, "wait", w.hour); return nil },
				func(c *durable.Context) (err error) { receipt, err = charge(w, c); return err },
			)
			return receipt, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.deploy(func(c *durable.Context, _ order) (string, error) { return handler(w, c) })
				first, duplicate := w.suspended(), w.Start("duplicate", theOrder)
				before := time.Now()
				w.wantConflict(duplicate)
				check.Equal(w, time.Since(before), 0, "the duplicate waits")
				w.wantOneResult(first, duplicate)
				if n := w.events.count(idempotent.OutcomeSuspended); n != 2 { // it is invoked again before its time
					w.Errorf("%d calls were suspended", n)
				}
			})
		})
	}
}

// The record is in the hands of the execution for as long as the execution may
// run, counted from its start, and no longer.
func TestClaimLastsUntilTheExecutionTimesOut(t *testing.T) {
	inMemory(t, func(w *world) {
		w.deploy(w.pay)
		first := w.Start("first", theOrder)
		end := time.Now().Add(w.timeout)
		time.Sleep(time.Minute) // the service was slow
		w.wantPending(first)
		if r := w.paid(); !r.Lease.Equal(end.Add(time.Second).Truncate(time.Millisecond)) || r.Expires.Before(end.Add(24*time.Hour)) {
			w.Errorf("lease %v, expires %v, and the execution ends %v", r.Lease, r.Expires, end)
		}
		// It is stopped by hand, and the record stays as it is.
		duplicate := w.Start("duplicate", theOrder)
		time.Sleep(time.Until(end))
		w.wantConflict(duplicate)
		time.Sleep(3 * time.Second)
		w.wantPending(duplicate)
		w.wantConflict(first)
		w.wantEffects(2) // with one downstream key
	})
}

// With a timeout that is configured too short, an invocation may outlast it.
func TestInvocationAfterTheTimeoutHoldsItsClaimUntilItsOwnEnd(t *testing.T) {
	inMemory(t, func(w *world) {
		w.timeout = time.Minute
		w.deploy(w.pay)
		first := w.suspended()
		time.Sleep(time.Hour)
		w.Pass = func(_ context.Context, _ string, apply func() (string, error)) (string, error) {
			if left := time.Until(w.paid().Lease); left < w.Timeout {
				w.Errorf("the lease ends in %v", left)
			}
			return apply()
		}
		w.run(first)
		if errs := first.Errors(); len(errs) > 0 {
			w.Errorf("invocations failed: %v", errs)
		}
		w.wantEffects(1)
	})
}

// After a failure the next delivery starts anew, with the same downstream key.
func TestFailedExecutionReleasesItsKey(t *testing.T) {
	everyStore(t, func(w *world) {
		fails := true
		w.deploy(func(c *durable.Context, o order) (string, error) {
			receipt, err := w.pay(c, o)
			if err == nil && fails {
				err = errors.New("out of stock")
			}
			return receipt, err
		})
		w.wantFailure("first", "*errors.errorString")
		if r := w.paid(); r.Owner != "" || r.Status != "INPROGRESS" {
			w.Errorf("it left %+v", r)
		}
		fails = false
		w.wantSuccess(w.deliver("second"))
		w.wantEffects(2)
		if _, charged := w.bank.effects(); charged != 1 {
			w.Errorf("%d charges", charged)
		}
	})
}

// With MaxAttempts 1 there is one execution, and a person decides after it.
func TestFailedExecutionIsTheLastWithMaxAttempts(t *testing.T) {
	inMemory(t, func(w *world) {
		w.config.MaxAttempts = 1
		w.deploy(func(c *durable.Context, o order) (string, error) {
			if _, err := w.pay(c, o); err != nil {
				return "", err
			}
			return "", errors.New("out of stock")
		})
		for _, want := range []string{"*errors.errorString", "OutcomeUnknownError"} {
			w.wantFailure(want, want)
		}
		w.wantEffects(1)
	})
}

// The tests of package handlers read the same requests.
func TestServiceSendsTheGoldenRequests(t *testing.T) {
	inMemory(t, func(w *world) {
		var requests [][]byte
		pay := durable.Wrap(w.Service, 1000, w.pay)
		w.deployAtWire(func(ctx context.Context, request []byte) ([]byte, error) {
			requests = append(requests, request)
			return pay(ctx, request)
		})
		receipt := w.wantSuccess(w.deliver("first"))
		for i, name := range []string{"durable-request.json", "durable-request-resumed.json"} {
			golden, err := os.ReadFile("../../handlers/durablefunc/testdata/" + name)
			check.Must(w, err)
			var want bytes.Buffer
			check.Must(w, json.Compact(&want, bytes.ReplaceAll(golden, []byte(`\"receipt of RECEIPT\"`), []byte(strings.ReplaceAll(receipt, `"`, `\"`)))))
			check.Equal(w, string(requests[i]), want.String(), name)
		}
	})
}
