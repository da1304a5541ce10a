package docs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
)

func decline(err error) (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{}, &handlers.StatusError{Status: 402, Detail: "The card was declined.", Err: err}
}

// What the README promises of a handler that fails.
func TestReadmeStatusError(t *testing.T) {
	runs := 0
	handler := handlers.APIGatewayV2(mustPolicies(t), handlers.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
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

func webhookOptions() (body, header *handlers.HTTPOptions) {
	webhooks := &handlers.HTTPOptions{Key: keypath.Path[handlers.HTTPRequest]("body.id")}
	deliveries := &handlers.HTTPOptions{Key: handlers.HeaderKey("X-GitHub-Delivery")}
	return webhooks, deliveries
}

// What the README promises of keys in other places.
func TestReadmeWebhooks(t *testing.T) {
	body, header := webhookOptions()
	for _, o := range []*handlers.HTTPOptions{body, header} {
		runs := 0
		handler := handlers.APIGatewayV2(mustPolicies(t), handlers.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			runs++
			return events.APIGatewayV2HTTPResponse{StatusCode: 204}, nil
		}, o)
		for _, id := range []string{"1", "1", "2"} {
			event := events.APIGatewayV2HTTPRequest{Body: `{"id":"evt_` + id + `"}`, Headers: map[string]string{"x-github-delivery": id}}
			event.RequestContext.HTTP.Method = "POST"
			if r, err := handler(t.Context(), event); err != nil || r.StatusCode != 204 {
				t.Errorf("got %+v, %v", r, err)
			}
		}
		if runs != 2 {
			t.Errorf("%d runs", runs)
		}
	}
}

func mustPolicies(t *testing.T) *idempotent.Executor {
	t.Helper()
	x, err := policies(memory.New(0))
	if err != nil {
		t.Fatal(err)
	}
	return x
}
