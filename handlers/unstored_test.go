package handlers_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/memory"
)

// There is no answer of its that could be given in full.
func TestHandlerThatReturnsAnUnstoredErrorHasFailed(t *testing.T) {
	x := newExecutor(t, memory.New(0), nil)
	w := postKeyed(handlers.Middleware(x, handlers.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Fail(w, r, &handlers.UnstoredError{Status: 500})
	})))
	if w.Code != 500 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h := handlers.FunctionURL(x, handlers.NoIdentity(), func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		return events.LambdaFunctionURLResponse{}, &handlers.UnstoredError{Status: 500}
	}, nil)
	var event events.LambdaFunctionURLRequest
	event.Headers = map[string]string{"idempotency-key": "k"}
	event.RequestContext.HTTP.Method = http.MethodPost
	if r, err := h(t.Context(), event); err == nil {
		t.Errorf("%+v", r)
	}
}
