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
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/handlers/relay/sqspublisher"
)

func main() {
	handler, err := setUp(context.Background())
	if err != nil {
		slog.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

type handler = func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

func setUp(ctx context.Context) (handler, error) {
	if err := logAt(os.Getenv("AWS_LAMBDA_LOG_LEVEL")); err != nil {
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

// logAt sets the default logger, which logs unpublished messages.
func logAt(text string) error {
	level := slog.LevelInfo
	if text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("AWS_LAMBDA_LOG_LEVEL: %w", err)
		}
	}
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	return nil
}
