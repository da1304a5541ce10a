// Command orders is a Lambda function behind an SQS queue. It places each order
// once, however often its message is sent and delivered. The event source mapping
// must have ReportBatchItemFailures.
//
// The body of a message is JSON:
//
//	{"orderId": "o-17", "sku": "cup", "quantity": 2}
//
// Its metrics go to standard output, in CloudWatch's Embedded Metric Format, and
// its log to standard error; on Lambda both are its log stream.
//
// Environment:
//
//	IDEMPOTENCY_TABLE  table of the idempotency records
//	ORDERS_TABLE       table with one item for each execution, also of a rejected
//	                   order
//	ORDERS_DELAY       time that it takes to place an order, e.g. 200ms; default none
//	AWS_LAMBDA_LOG_LEVEL, AWS_ENDPOINT_URL_DYNAMODB and the SDK's own
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

func main() { program.Start(setUp) }

type handler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

func setUp(ctx context.Context) (handler, error) {
	observer, err := program.Observer()
	if err != nil {
		return nil, err
	}
	shop, err := newShop()
	if err != nil {
		return nil, err
	}
	client, err := dynamoenv.Client(ctx)
	if err != nil {
		return nil, err
	}
	shop.client = client

	store, err := dynamoenv.Open(ctx, &dynamoenv.Options{
		Client: client,
		// The claims of a batch share a request, and so do its completions.
		// The role needs the permissions of group commit.
		Store: &dynamo.Options{Group: 1},
	})
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("place-order", store, &idempotent.Config{
		// The retention of a queue is up to 14 days, and so is that of the
		// dead-letter queue from which a message may be sent back.
		Retention: 28 * 24 * time.Hour,
		// The slowest order takes less. An order that is cut off after its
		// effect is an error, and errors run again. With a Reserve of 500 ms,
		// the function's timeout must be more than 2.5 s.
		Margin:   2 * time.Second,
		Observer: observer,
	})
	if err != nil {
		return nil, err
	}
	return handlers.SQS(x, key, shop.place, &handlers.SQSOptions{
		Concurrency: 5,
		// An order does not wait for the completions of those before it, which
		// share requests. In return, a crash can place all of a batch again.
		Unrecorded: 10,
	}), nil
}

// key is the producer's own ID. Two messages with one ID are one order. The same ID
// with a different sku or quantity is a mismatch.
func key(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.OrderID, Payload: m.Body}, nil
}

func newShop() (*shop, error) {
	s := &shop{table: os.Getenv("ORDERS_TABLE"), process: os.Getenv("AWS_LAMBDA_LOG_STREAM_NAME")}
	if s.table == "" {
		return nil, fmt.Errorf("ORDERS_TABLE is not set")
	}
	var err error
	s.delay, err = program.Duration("ORDERS_DELAY", 0, 0)
	return s, err
}
