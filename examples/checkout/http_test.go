package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
)

// The checkout behind an HTTP API, on a store of the environment, and the scheduled function
// that resumes what it has left behind. The binary of the test is both: $CHECKOUT_ROLE says
// which.
const (
	roleVariable = "CHECKOUT_ROLE"
	api          = "api"
	resumer      = "resumer"
)

func setUpRole(ctx context.Context) (lambda.Handler, error) {
	store, place, err := open(ctx)
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("checkout", store, &idempotent.Config{RefuseLate: true, ProviderMemory: 24 * time.Hour, Resume: true})
	if err != nil {
		return nil, err
	}
	s := &shop{services: services{url: os.Getenv("PROVIDER_URL")}, place: place}
	scope, options := httpapi.JWTClaim("sub"), &httpapi.Options{Resume: &httpapi.ResumeOptions{
		Save: func(_ context.Context, caller httpapi.Caller) (string, error) {
			return fmt.Sprint(caller.Claims["sub"]), nil
		},
		Restore: func(ctx context.Context, saved string) (context.Context, error) {
			return context.WithValue(ctx, customer{}, saved), nil
		},
	}}
	if os.Getenv(roleVariable) == resumer {
		return lambda.NewHandler(handlers.Resume(httpapi.ResumedEvent(x, scope, s.serve, options), &handlers.ResumeOptions{ReleasedAfter: time.Millisecond})), nil
	}
	protected := httpapi.APIGatewayV2(x, scope, s.serve, options)
	return lambda.NewHandler(func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		// As a middleware that has verified a token.
		return protected(context.WithValue(ctx, customer{}, e.RequestContext.Authorizer.JWT.Claims["sub"]), e)
	}), nil
}

// customer is the key of the customer in a context.
type customer struct{}

func (s *shop) serve(ctx context.Context, e events.APIGatewayV2HTTPRequest) (none events.APIGatewayV2HTTPResponse, err error) {
	var o order
	if err := json.Unmarshal([]byte(e.Body), &o); err != nil {
		return none, err
	}
	if o.Customer, _ = ctx.Value(customer{}).(string); o.Customer == "" {
		return none, errors.New("nobody has put the customer into the context")
	}
	r, err := s.checkout(ctx, o)
	if err != nil {
		return none, err
	}
	body, err := json.Marshal(r)
	return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: string(body)}, err
}

// sent returns the event of a request for an order.
func sent(o order) events.APIGatewayV2HTTPRequest {
	who := o.Customer
	o.Customer = ""
	body, _ := json.Marshal(o) // strings and numbers
	e := events.APIGatewayV2HTTPRequest{
		RawPath: "/orders", Body: string(body),
		Headers: map[string]string{"idempotency-key": o.OrderID, "authorization": "secret", "content-type": "application/json"},
	}
	e.RequestContext.HTTP.Method = http.MethodPost
	e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": who}},
	}
	return e
}
