// Command checkout is a Lambda function that is invoked directly, or by Step
// Functions. It places an order once for each orderId of a customer. It reserves
// the item and charges the card at external services. It then commits the order, a
// message and its own completion in one transaction. A permanent failure undoes the
// finished steps.
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
//	ORDERS_TABLE       table with one item for each order
//	OUTBOX_TABLE       table of the messages, which examples/relay publishes
//	PROVIDER_URL       URL of the inventory and the payment provider; package
//	                   internal/providers implements them
//	AWS_LAMBDA_LOG_LEVEL, AWS_ENDPOINT_URL_DYNAMODB and the SDK's own
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

func main() { program.Start(setUp) }

type handler = func(context.Context, order) (receipt, error)

func setUp(ctx context.Context) (handler, error) {
	observer, err := program.Observer()
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
	x, err := idempotent.New("checkout", store, &idempotent.Config{Observer: observer})
	if err != nil {
		return nil, err
	}
	return handlers.Invoke(x, key, shop.checkout), nil
}

// key is the customer's own order ID. The same ID with a different order is a
// mismatch.
func key(o order) (idempotent.Key, error) {
	return idempotent.Key{Scope: o.Customer, ID: o.OrderID, Payload: o}, nil
}

func newShop() (*shop, error) {
	s := &shop{services: services{url: os.Getenv("PROVIDER_URL")}, place: orders{table: os.Getenv("ORDERS_TABLE")}.place}
	for _, name := range []string{"ORDERS_TABLE", "OUTBOX_TABLE", "PROVIDER_URL"} {
		if os.Getenv(name) == "" {
			return nil, fmt.Errorf("%s is not set", name)
		}
	}
	return s, nil
}
