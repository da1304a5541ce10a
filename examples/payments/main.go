// Command payments is a Lambda function behind an API Gateway HTTP API
// (payload format 2.0). POST /payments charges once for each Idempotency-Key,
// however often it is sent. Behind a JWT authorizer, each subject has keys of its own.
//
// Its metrics go to standard output, in CloudWatch's Embedded Metric Format, and
// its log to standard error; on Lambda both are its log stream.
//
// Environment:
//
//	IDEMPOTENCY_TABLE  table of the idempotency records
//	PAYMENTS_TABLE     table with one item for each charge
//	PAYMENTS_DELAY     time that the provider takes for a charge, e.g. 200ms; default none
//	PAYMENTS_ID        "random" (default): every charge has a new ID, so that a second
//	                   one is visible; "downstream": the ID is the downstream key, so
//	                   that the provider recognises a repetition
//	AWS_LAMBDA_LOG_LEVEL, AWS_ENDPOINT_URL_DYNAMODB and the SDK's own
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/dynamo/dynamoenv"
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

func setUp(ctx context.Context) (handler, error) {
	logger, err := newLogger()
	if err != nil {
		return nil, err
	}
	provider, err := newProvider()
	if err != nil {
		return nil, err
	}
	client, err := dynamoenv.Client(ctx)
	if err != nil {
		return nil, err
	}
	provider.client = client

	store, err := dynamoenv.Open(ctx, &dynamoenv.Options{Client: client})
	if err != nil {
		return nil, err
	}
	metrics, err := emf.New(nil)
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("create-payment", store, &idempotent.Config{
		Observer: idempotent.Observers{idempotent.LogObserver{Logger: logger}, metrics},
	})
	if err != nil {
		return nil, err
	}
	return overHTTP(x, provider.createPayment), nil
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

func newProvider() (*provider, error) {
	p := &provider{table: os.Getenv("PAYMENTS_TABLE")}
	if p.table == "" {
		return nil, fmt.Errorf("PAYMENTS_TABLE is not set")
	}
	if text := os.Getenv("PAYMENTS_DELAY"); text != "" {
		var err error
		if p.delay, err = time.ParseDuration(text); err != nil {
			return nil, fmt.Errorf("PAYMENTS_DELAY: %w", err)
		}
	}
	switch id := os.Getenv("PAYMENTS_ID"); id {
	case "", "random":
		p.newID = randomID
	case "downstream":
		p.newID = downstreamID
	default:
		return nil, fmt.Errorf("PAYMENTS_ID is %q, want random or downstream", id)
	}
	return p, nil
}
