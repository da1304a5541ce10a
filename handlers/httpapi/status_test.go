package httpapi_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"

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
					check.Equal(t, again.status, 500)
					check.Equal(t, again.body, first.body)
					check.Equal(t, again.headers.Get("Idempotent-Replayed"), "true")
				})
				if len(lines) != 1 || lines[0]["level"] != "ERROR" || lines[0]["status"] != float64(status) || lines[0]["operation"] != "create-payment" {
					t.Errorf("%d: logged %v", status, lines)
				}
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
		handler := httpapi.APIGatewayV2(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			runs++
			return events.APIGatewayV2HTTPResponse{StatusCode: test.status}, nil
		}, nil)
		for range 2 {
			e := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
			e.RequestContext.HTTP.Method = test.method
			_, err := handler(t.Context(), e)
			check.Nil(t, err)
		}
		check.Equal(t, runs, 1, test)
	}
}
