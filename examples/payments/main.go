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
	"os"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/idempotent"
)

func main() { program.Start(setUp) }

func setUp(ctx context.Context) (handler, error) {
	observer, err := program.Observer()
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
	x, err := idempotent.New("create-payment", store, &idempotent.Config{Observer: observer})
	if err != nil {
		return nil, err
	}
	return overHTTP(x, provider.createPayment), nil
}

func newProvider() (*provider, error) {
	p := &provider{table: os.Getenv("PAYMENTS_TABLE")}
	if p.table == "" {
		return nil, fmt.Errorf("PAYMENTS_TABLE is not set")
	}
	var err error
	if p.delay, err = program.Duration("PAYMENTS_DELAY", 0, 0); err != nil {
		return nil, err
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
