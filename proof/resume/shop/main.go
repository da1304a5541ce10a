// Command shop is two functions of one deployment: a checkout behind an HTTP API, and the
// scheduled function that resumes what it has left behind.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	store, order, err := open(ctx)
	if err != nil {
		return err
	}
	x, err := idempotent.New("checkout", store, &idempotent.Config{
		Resume: true, ProviderMemory: 24 * time.Hour, RefuseLate: true, Retention: time.Hour, ClockSkew: 100 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	s := shop{url: os.Getenv("PROVIDER_URL"), order: order}
	scope, options := httpapi.JWTClaim("sub"), &httpapi.Options{Resume: &httpapi.ResumeOptions{
		Save: func(_ context.Context, caller httpapi.Caller) (string, error) {
			return fmt.Sprint(caller.Claims["sub"]), nil
		},
		Restore: func(ctx context.Context, saved string) (context.Context, error) {
			return context.WithValue(ctx, customer{}, saved), nil
		},
	}}
	if os.Getenv("ROLE") == "resume" {
		lambda.Start(handlers.Resume(httpapi.ResumedEvent(x, scope, s.serve, options), &handlers.ResumeOptions{ReleasedAfter: time.Second}))
	}
	api := httpapi.APIGatewayV2(x, scope, s.serve, options)
	lambda.Start(func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		// As a middleware that has verified a token.
		return api(context.WithValue(ctx, customer{}, e.RequestContext.Authorizer.JWT.Claims["sub"]), e)
	})
	return nil
}
