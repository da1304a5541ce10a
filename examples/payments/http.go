package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

type handler = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// request is what of the HTTP request the payment depends on.
type request struct {
	key     string
	payment order
}

// overHTTP maps requests and answers.
func overHTTP(create func(context.Context, request) (payment, error)) handler {
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if method, path := event.RequestContext.HTTP.Method, event.RawPath; method != http.MethodPost || path != "/payments" {
			return problem(http.StatusNotFound, "there is only POST /payments", 0), nil
		}
		body, err := decodeBody(event)
		if err != nil || body.Amount <= 0 || body.Currency == "" || body.Source == "" {
			return problem(http.StatusBadRequest, "the body must be JSON with amount, currency and source", 0), nil
		}
		paid, err := create(ctx, request{key: event.Headers["idempotency-key"], payment: body})
		if err != nil {
			return refusal(err)
		}
		return answer(http.StatusCreated, "application/json", paid), nil
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

// refusal gives the errors that a client can act on their status. The others
// are the function's, and its caller's to retry.
func refusal(err error) (events.APIGatewayV2HTTPResponse, error) {
	var running *idempotent.InProgressError
	switch {
	case errors.Is(err, idempotent.ErrMissingKey), errors.Is(err, idempotent.ErrInvalidKey):
		return problem(http.StatusBadRequest, "the header Idempotency-Key is missing or not valid", 0), nil
	case errors.As(err, &running):
		return problem(http.StatusConflict, "a request with this Idempotency-Key is being processed", retryAfter(running.Until)), nil
	case errors.Is(err, idempotent.ErrLeaseLost):
		return problem(http.StatusConflict, "a request with this Idempotency-Key is being processed", 1), nil
	case errors.Is(err, idempotent.ErrKeyReused):
		return problem(http.StatusUnprocessableEntity, "this Idempotency-Key was used with another payload", 0), nil
	}
	return events.APIGatewayV2HTTPResponse{}, err
}

// retryAfter is short: the other call most likely ends long before its lease.
func retryAfter(lease time.Time) int {
	return int(min(max(math.Ceil(time.Until(lease).Seconds()), 1), 2))
}

func problem(status int, detail string, retryAfter int) events.APIGatewayV2HTTPResponse {
	r := answer(status, "application/problem+json", map[string]any{
		"title": http.StatusText(status), "status": status, "detail": detail,
	})
	if retryAfter > 0 {
		r.Headers["Retry-After"] = strconv.Itoa(retryAfter)
	}
	return r
}

func answer(status int, contentType string, body any) events.APIGatewayV2HTTPResponse {
	text, err := json.Marshal(body)
	if err != nil {
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusInternalServerError}
	}
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status,
		Headers:    map[string]string{"Content-Type": contentType},
		Body:       string(text),
	}
}
