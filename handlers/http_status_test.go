package handlers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
)

// A forgotten status is named at once, and not found out by whoever repeats
// the request. What the handler did is done, and is not done again.
func TestForgottenStatusIsNamedAtTheFirstCall(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		if !d.lambda {
			return // net/http has 200 for it
		}
		for _, status := range []int{0, 101, 600, -1} {
			for _, o := range []*handlers.HTTPOptions{nil, {Store: func(status int) bool { return status == 201 }}} {
				s := newSite(t, d, newExecutor(t, memory.New(0), nil), o, func(context.Context, int, string) (httpReply, error) {
					return httpReply{status: status, body: "secret"}, nil
				})
				lines := logged(t, func() {
					first, again := s.get(k), s.get(k)
					_, detail := isProblem(t, first, 500)
					if !leaks(detail, fmt.Sprintf("StatusCode %d,", status)) {
						t.Errorf("%d: the first gets %+v", status, first)
					}
					if again.status != 500 || again.body != first.body || again.headers.Get("Idempotent-Replayed") != "true" {
						t.Errorf("%d: a repetition gets %+v, the first %+v", status, again, first)
					}
				})
				if len(lines) != 1 || lines[0]["level"] != "ERROR" || lines[0]["status"] != float64(status) || lines[0]["operation"] != "create-payment" {
					t.Errorf("%d: logged %v", status, lines)
				}
				s.ran(1)
			}
		}
	})
}
