package docs_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// A handler that refuses while a flag is set uses up no attempt, and stores nothing.
func TestOperatePageOfAKillSwitch(t *testing.T) {
	stopped, runs := true, 0
	handler := httpapi.APIGatewayV2(executor(t, "create-payment", &idempotent.Config{MaxAttempts: 1}), httpapi.NoIdentity(),
		func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			if stopped {
				return events.APIGatewayV2HTTPResponse{}, idempotent.Retryable(&httpapi.StatusError{Status: http.StatusServiceUnavailable, Detail: "Payments are stopped."})
			}
			runs++
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated}, nil
		}, nil)
	event := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
	event.RequestContext.HTTP.Method = http.MethodPost
	send := func(want int) {
		t.Helper()
		answer, err := handler(t.Context(), event)
		check.Nil(t, err)
		check.Equal(t, answer.StatusCode, want, answer.Body)
	}
	send(503)
	send(503)
	stopped = false
	send(201)
	send(201)
	check.Equal(t, runs, 1, "runs")
}
