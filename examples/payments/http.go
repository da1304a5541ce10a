package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
)

type handler = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// overHTTP routes requests. The library handles the header, the scope, conflicts and
// replays.
func overHTTP(x *idempotent.Executor, create func(context.Context, order) (payment, error)) handler {
	// Behind a JWT authorizer, each caller has keys of its own.
	callers := httpapi.FirstOf(httpapi.JWTClaim("sub"), httpapi.NoIdentity())
	payments := httpapi.APIGatewayV2(x, callers, creating(create), nil)
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if method, path := event.RequestContext.HTTP.Method, event.RawPath; method != http.MethodPost || path != "/payments" {
			return problem(http.StatusNotFound, "there is only POST /payments")
		}
		return payments(ctx, event)
	}
}

// creating maps a request to an order. A 400 releases the key, so that the client may
// send a valid body with the same one.
func creating(create func(context.Context, order) (payment, error)) handler {
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		body, err := decodeBody(event)
		if err != nil || body.Amount <= 0 || body.Currency == "" || body.Source == "" {
			return events.APIGatewayV2HTTPResponse{}, &httpapi.StatusError{
				Status: http.StatusBadRequest, Detail: "the body must be JSON with amount, currency and source", Err: err,
			}
		}
		paid, err := create(ctx, body)
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		return answer(http.StatusCreated, "application/json", paid)
	}
}

func decodeBody(event events.APIGatewayV2HTTPRequest) (order, error) {
	text := []byte(event.Body)
	if event.IsBase64Encoded {
		var err error
		if text, err = base64.StdEncoding.DecodeString(event.Body); err != nil {
			return order{}, err
		}
	}
	var body order
	err := json.Unmarshal(text, &body)
	return body, err
}

func problem(status int, detail string) (events.APIGatewayV2HTTPResponse, error) {
	return answer(status, "application/problem+json", map[string]any{
		"title": http.StatusText(status), "status": status, "detail": detail,
	})
}

func answer(status int, contentType string, body any) (events.APIGatewayV2HTTPResponse, error) {
	text, err := json.Marshal(body)
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status,
		Headers:    map[string]string{"Content-Type": contentType},
		Body:       string(text),
	}, err
}
