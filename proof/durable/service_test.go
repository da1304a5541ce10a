package durable_test

import (
	"context"
	"testing"
	"time"
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
