package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/durable"
)

// The service sends a large event on a second page, and times in another form.
func TestEveryFormOfARequestHasOneEffect(t *testing.T) {
	for name, form := range map[string]func(w *world){
		"an empty first page": func(w *world) { w.EmptyFirstPage = true },
		"times as text":       func(w *world) { w.TextTimestamps = true },
		"both":                func(w *world) { w.EmptyFirstPage, w.TextTimestamps = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			everyStore(t, func(w *world) {
				form(w)
				w.asks()
				w.deploy(w.pay)
				begun := time.Now()
				first := w.suspended()
				if r := w.paid(); r.Lease.Before(begun.Add(w.timeout).Truncate(time.Millisecond)) || r.Lease.After(begun.Add(w.timeout+2*time.Second)) {
					w.Errorf("the lease ends %v after the start", r.Lease.Sub(begun))
				}
				duplicate := w.Start("duplicate", theOrder)
				w.wantConflict(duplicate)
				w.wantOneResult(first, duplicate)
			})
		})
	}
}

func TestExecutionWhoseEventIsOnALaterPageEndsIfNothingFetchesIt(t *testing.T) {
	inMemory(t, func(w *world) {
		w.EmptyFirstPage = true
		w.deploy(w.pay)
		if status, result := w.deliver("first"); status != "FAILED" || result != "NoEventError" {
			w.Errorf("%s, %s", status, result)
		}
		if r := w.paid(); r.Status != driver.Absent {
			w.Errorf("it left %+v", r)
		}
		w.wantEffects(0)
	})
}

// The service repeats an invocation that fails until the execution times out.
func TestInvocationThatFailsIsRepeatedUntilTheTimeout(t *testing.T) {
	inMemory(t, func(w *world) {
		w.ExecutionTimeout = w.timeout
		w.deploy(w.pay)
		invoke, failures := w.Invoke, 250
		w.Invoke = func(ctx context.Context, request []byte) ([]byte, error) {
			answer, err := invoke(ctx, request)
			if failures--; failures >= 0 {
				return nil, errors.New("out of memory")
			}
			return answer, err
		}
		w.wantSuccess(w.deliver("first"))
		w.wantEffects(1)
		w.Invoke = func(context.Context, []byte) ([]byte, error) { return nil, errors.New("out of memory") }
		began := time.Now()
		if status, _ := w.deliver("second"); status != "TIMED_OUT" || time.Since(began) != w.timeout {
			w.Errorf("%s after %v", status, time.Since(began))
		}
	})
}

// The service ends an execution after a response whose status does not fit.
func TestServiceRefusesAResponseWhoseStatusDoesNotFit(t *testing.T) {
	for _, response := range []string{
		``, `[]`, `{}`, `{"statusCode":200}`, `{"Status":"PAUSED"}`, `{"Status":"PENDING"}`,
		`{"Status":"SUCCEEDED","Result":"1","Error":{"ErrorType":"x"}}`, `{"Status":"FAILED","Result":"1"}`,
	} {
		inMemory(t, func(w *world) {
			w.Invoke = func(context.Context, []byte) ([]byte, error) { return []byte(response), nil }
			if status, result := w.deliver("first"); status != "FAILED" || result != "InvalidParameterValueException" {
				w.Errorf("%s: %s, %s", response, status, result)
			}
		})
	}
}

// A handler does not send it to the service, and keeps the claim.
func TestResponseWhoseStatusDoesNotFitIsNotReturned(t *testing.T) {
	inMemory(t, func(w *world) {
		fits := false
		pay := durable.Wrap(w.Service, 1000, w.pay)
		w.deployAtWire(func(ctx context.Context, request []byte) ([]byte, error) {
			if !fits {
				return json.Marshal(map[string]int{"statusCode": 200})
			}
			return pay(ctx, request)
		})
		first := w.Start("first", theOrder)
		if _, err := first.Once(w.Context()); err == nil {
			w.Error("it is accepted")
		}
		w.wantConflict(w.Start("duplicate", theOrder))
		fits = true
		w.run(first)
		w.wantEffects(1)
	})
}

// A transient error of the key function is repeated, before the key is claimed and
// after it.
func TestErrorOfTheKeyFunctionDoesNotEndAnExecution(t *testing.T) {
	everyStore(t, func(w *world) {
		w.deploy(w.pay)
		first := w.Start("first", theOrder)
		for range 2 {
			w.keyFails = errors.New("the directory cannot be reached")
			if _, err := first.Once(w.Context()); !errors.Is(err, w.keyFails) {
				w.Errorf("got %v", err)
			}
			w.keyFails = nil
			if _, err := first.Once(w.Context()); err != nil {
				w.Error(err)
			}
		}
		w.run(first)
		w.wantSuccess(w.deliver("duplicate"))
		w.wantEffects(1)
	})
}
