package examples_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

func decline(err error) (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{}, &handlers.StatusError{Status: 402, Detail: "The card was declined.", Err: err}
}

// What the README promises of a handler that fails.
func TestReadmeStatusError(t *testing.T) {
	x, err := policies(idempotent.NewMemory(0))
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	handler := handlers.APIGatewayV2(x, handlers.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		runs++
		return decline(errors.New("secret"))
	}, nil)
	event := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
	event.RequestContext.HTTP.Method = "POST"
	const want = `{"type":"about:blank","title":"Payment Required","status":402,"detail":"The card was declined."}`
	for range 2 {
		if r, err := handler(t.Context(), event); err != nil || r.StatusCode != 402 || r.Body != want || runs != 1 {
			t.Errorf("got %+v, %v after %d runs", r, err, runs)
		}
	}
}
