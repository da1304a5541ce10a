// Command relay is a Lambda function behind the stream of an outbox. It publishes the
// messages of transactions, such as those of examples/checkout, to a queue. The event
// source mapping must have ReportBatchItemFailures, one batch of a shard at a time,
// and a filter for unpublished items:
//
//	{"eventName":["INSERT","MODIFY"],"dynamodb":{"NewImage":{"published":{"N":[{"exists":false}]}}}}
//
// Its log goes to standard error.
//
// Environment:
//
//	OUTBOX_TABLE        table of the messages
//	ORDER_EVENTS_QUEUE  URL of the queue for the destination order-events; in a
//	                    FIFO queue, each order is a message group
//	AWS_LAMBDA_LOG_LEVEL, AWS_ENDPOINT_URL_DYNAMODB and the SDK's own
package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/handlers/relay/sqspublisher"
)

func main() { program.Start(setUp) }

type handler = func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

func setUp(ctx context.Context) (handler, error) {
	if err := program.Log(); err != nil {
		return nil, err
	}
	queue := os.Getenv("ORDER_EVENTS_QUEUE")
	if queue == "" {
		return nil, errors.New("ORDER_EVENTS_QUEUE is not set")
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	box, err := outbox.New(dynamodb.NewFromConfig(cfg), os.Getenv("OUTBOX_TABLE"), nil)
	if err != nil {
		return nil, err
	}
	publish := relay.Route(map[string]relay.Publisher{
		"order-events": sqspublisher.New(sqs.NewFromConfig(cfg), queue),
	})
	return relay.Outbox(publish, &relay.Options{Mark: box.MarkAll}), nil
}
