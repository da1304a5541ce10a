package docs_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/http.md.

func pay(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	var p Payment
	if err := json.Unmarshal([]byte(event.Body), &p); err != nil {
		return events.APIGatewayV2HTTPResponse{}, &httpapi.StatusError{Status: 400, Detail: "The body is not JSON.", Err: err}
	}
	receipt, err := createPayment(ctx, p)
	return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: receipt.ID}, err
}

func serveHTTPAPI(x *idempotent.Executor) {
	lambda.Start(httpapi.APIGatewayV2(x, httpapi.JWTClaim("sub"), pay, nil))
}

// The routes of the example app have no authorizer, for which JWTClaim alone
// refuses every request. The page says so.
func TestHTTPPageSaysWhichScopePublicRoutesNeed(t *testing.T) {
	page, app := read(t, "docs/http.md"), read(t, "infra/cmd/examples/main.go")
	check.True(t, strings.Contains(app, "Public: true"), "the example app has public routes")
	check.True(t, strings.Contains(page, "`FirstOf(JWTClaim(\"sub\"), NoIdentity())`"), "docs/http.md says which scope they need")
	for want, scope := range map[int]httpapi.Scope{
		403: httpapi.JWTClaim("sub"), 201: httpapi.FirstOf(httpapi.JWTClaim("sub"), httpapi.NoIdentity()),
	} {
		x := executor(t, "create-payment", nil)
		public := events.APIGatewayV2HTTPRequest{Version: "2.0", Body: "{}", Headers: map[string]string{"idempotency-key": "k"}}
		public.RequestContext.HTTP.Method = "POST"
		answer, err := httpapi.APIGatewayV2(x, scope, pay, nil)(t.Context(), public)
		check.Nil(t, err)
		check.Equal(t, answer.StatusCode, want, answer.Body)
	}
}

func webhookOptions() (body, header *httpapi.Options) {
	webhooks := &httpapi.Options{Key: keypath.Path[httpapi.Request]("body.id")}
	deliveries := &httpapi.Options{Key: httpapi.HeaderKey("X-GitHub-Delivery")}
	return webhooks, deliveries
}

func TestHTTPPageOfKeysInOtherPlaces(t *testing.T) {
	body, header := webhookOptions()
	for _, o := range []*httpapi.Options{body, header} {
		runs := 0
		handler := httpapi.APIGatewayV2(mustPolicies(t), httpapi.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			runs++
			return events.APIGatewayV2HTTPResponse{StatusCode: 204}, nil
		}, o)
		for _, id := range []string{"1", "1", "2"} {
			event := events.APIGatewayV2HTTPRequest{Body: `{"id":"evt_` + id + `"}`, Headers: map[string]string{"x-github-delivery": id}}
			event.RequestContext.HTTP.Method = "POST"
			r, err := handler(t.Context(), event)
			check.Nil(t, err)
			check.Equal(t, r.StatusCode, 204)
		}
		check.Equal(t, runs, 2, "runs")
	}
}

func mustPolicies(t *testing.T) *idempotent.Executor {
	t.Helper()
	x, err := policies(memory.New(0))
	check.Must(t, err)
	return x
}

var _ = serveHTTPAPI
