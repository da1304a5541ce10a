// Command checkout is a Lambda function that is invoked directly, or by Step
// Functions: it takes an order, once per orderId of a customer. It reserves
// what is ordered and charges for it, at services of others, and then commits
// the order, the message about it and its own completion in one transaction.
// What fails for good is undone.
//
// The event is JSON:
//
//	{"orderId": "o-17", "customer": "c-1", "sku": "cup", "quantity": 2, "amount": 1299, "card": "card_1"}
//
// Its metrics go to standard output, in CloudWatch's Embedded Metric Format, and
// its log to standard error; on Lambda both are its log stream.
//
// Environment:
//
//	IDEMPOTENCY_TABLE  table of the idempotency records
//	ORDERS_TABLE       table that gets one item per order
//	OUTBOX_TABLE       table of the messages, which examples/relay publishes
//	PROVIDER_URL       where the inventory and the payment provider are: package
//	                   local/providers shows what they answer
//	AWS_LAMBDA_LOG_LEVEL, AWS_ENDPOINT_URL_DYNAMODB and the SDK's own
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/emf"
)

func main() {
	handler, err := setUp(context.Background())
	if err != nil {
		slog.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

type handler = func(context.Context, order) (receipt, error)

func setUp(ctx context.Context) (handler, error) {
	logger, err := newLogger()
	if err != nil {
		return nil, err
	}
	shop, err := newShop()
	if err != nil {
		return nil, err
	}
	store, err := dynamoenv.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	metrics, err := emf.New(nil)
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("checkout", store, &idempotent.Config{
		Observer: idempotent.Observers{idempotent.LogObserver{Logger: logger}, metrics},
	})
	if err != nil {
		return nil, err
	}
	return handlers.Invoke(x, key, shop.checkout), nil
}

// key is the customer's own order id: the same id with another order is a
// mistake.
func key(o order) (idempotent.Key, error) {
	return idempotent.Key{Scope: o.Customer, ID: o.OrderID, Payload: o}, nil
}

func newLogger() (*slog.Logger, error) {
	level := slog.LevelInfo
	if text := os.Getenv("AWS_LAMBDA_LOG_LEVEL"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("AWS_LAMBDA_LOG_LEVEL: %w", err)
		}
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})), nil
}

func newShop() (*shop, error) {
	s := &shop{orders: os.Getenv("ORDERS_TABLE"), services: services{url: os.Getenv("PROVIDER_URL")}}
	for _, name := range []string{"ORDERS_TABLE", "OUTBOX_TABLE", "PROVIDER_URL"} {
		if os.Getenv(name) == "" {
			return nil, fmt.Errorf("%s is not set", name)
		}
	}
	return s, nil
}
