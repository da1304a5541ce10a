package httpapi_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The client gets the status that the handler chose, and not a bare 500.
func TestStatusOfAHandlerThatWasCutOffIsReturned(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "payments")
	slow := func(ctx context.Context) error {
		<-ctx.Done()
		return &httpapi.StatusError{Status: 503, Detail: "The bank does not answer.", Err: ctx.Err()}
	}
	refused := func(t *testing.T, status int, body string) {
		t.Helper()
		check.Equal(t, status, 503)
		check.Contains(t, body, "The bank does not answer.")
	}
	t.Run("of an event", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			h := httpapi.FunctionURL(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), func(ctx context.Context, _ events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
				return events.LambdaFunctionURLResponse{}, slow(ctx)
			}, nil)
			var event events.LambdaFunctionURLRequest
			event.Headers = map[string]string{"idempotency-key": "k"}
			event.RequestContext.HTTP.Method = http.MethodPost
			r, err := h(ctx, event)
			check.Nil(t, err)
			refused(t, r.StatusCode, r.Body)
		})
	})
	t.Run("of net/http", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			w := postKeyed(httpapi.Middleware(newExecutor(t, memory.New(0), nil), httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				httpapi.Fail(w, r, slow(r.Context()))
			})), func(r *http.Request) { *r = *r.WithContext(ctx) })
			refused(t, w.Code, w.Body.String())
		})
	})
}
