package httpapi_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// A forgotten status is reported at once, and not only when a client repeats the
// request. The handler does not run again.
func TestForgottenStatusIsReportedAtTheFirstCall(t *testing.T) {
	forEachHTTP(t, func(t *testing.T, d httpDriver) {
		if !d.lambda {
			return // net/http has 200 for it
		}
		for _, status := range []int{0, 101, 600, -1} {
			for _, o := range []*httpapi.Options{nil, {Store: func(status int) bool { return status == 201 }}} {
				s := newSite(t, d, newExecutor(t, memory.New(0), nil), o, func(context.Context, int, string) (httpReply, error) {
					return httpReply{status: status, body: "secret"}, nil
				})
				lines := logged(t, func() {
					first, again := s.get(k), s.get(k)
					_, detail := isProblem(t, first, 500)
					check.True(t, leaks(detail, fmt.Sprintf("StatusCode %d,", status)))
					isReply(t, again, 500, first.body, "true")
				})
				check.Equal(t, len(lines), 1, status)
				isLine(t, lines[0], map[string]any{"level": "ERROR", "status": float64(status), "operation": "create-payment"})
				s.ran(1)
			}
		}
	})
}

// A forgotten status and a misspelt method do not run the handler twice.
func TestMissingStatusAndLowerCaseMethodRunOnce(t *testing.T) {
	for _, test := range []struct {
		method string
		status int
	}{{"POST", 0}, {"Post", 201}, {"post", 201}} {
		runs := 0
		s := newSite(t, httpDrivers[0], newExecutor(t, memory.New(0), nil), nil, func(context.Context, int, string) (httpReply, error) {
			runs++
			return httpReply{status: test.status}, nil
		})
		for range 2 {
			s.get(k.with(method(test.method)))
		}
		check.Equal(t, runs, 1, test)
	}
}
