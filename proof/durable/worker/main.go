// Command worker is a durable function: it charges, waits, and ships. The service
// and the bank are servers of the test.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/proof/durable"
	"github.com/lambda-once/once/proof/internal/function"
)

type order struct{ ID string }

var service = durable.Remote{URL: os.Getenv("SERVICE_URL")}

func main() {
	x, err := executor()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pay := durable.Wrap(service, 1000, pay)
	lambda.Start(durablefunc.Wrap(x, time.Hour, idempotent.Field(func(o order) string { return o.ID }), pay, nil))
}

func executor() (*idempotent.Executor, error) {
	store, err := dynamo.New(function.Client(), os.Getenv("IDEMPOTENCY_TABLE"), nil)
	if err != nil {
		return nil, err
	}
	return idempotent.New("pay", store, nil)
}

func pay(c *durable.Context, o order) (string, error) {
	receipt, err := durable.Step(c, "charge", func(ctx context.Context) (string, error) {
		return charge(ctx, o, idempotent.DownstreamKey(ctx, "charge"))
	})
	if err != nil {
		return "", err
	}
	if err := durable.Wait(c, "until tomorrow", 100*time.Millisecond); err != nil {
		return "", err
	}
	return durable.Step(c, "ship", func(context.Context) (string, error) { return receipt, nil })
}

func charge(ctx context.Context, o order, key string) (string, error) {
	return service.Post(ctx, "/charge/"+url.PathEscape(o.ID)+"/"+key, nil)
}
