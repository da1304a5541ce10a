// Command shared is a Lambda function that is invoked with any JSON event, on a table
// that it shares with functions that use Powertools for AWS Lambda. Each of them
// replays the results of the rest. Every run of the handler puts an item into a
// table.
//
// The answer is JSON:
//
//	{"record": "<id of the record>", "event": <event>}
//
// Its metrics go to standard output, in CloudWatch's Embedded Metric Format, and
// its log to standard error; on Lambda both are its log stream.
//
// Environment:
//
//	IDEMPOTENCY_TABLE      table of the idempotency records
//	SHARED_TABLE           table with one item for each execution: a new id, and the
//	                       id of the record
//	POWERTOOLS_DIALECT     "typescript" or "python": the library of the counterparts
//	POWERTOOLS_PREFIX      their key prefix
//	POWERTOOLS_KEY         their JMESPath expression for the key; default: the whole event
//	POWERTOOLS_VALIDATION  their JMESPath expression for payload validation; default: none
//	SHARED_DELAY           a pause after the item is put, e.g. 200ms; default none
//	AWS_LAMBDA_LOG_LEVEL, AWS_ENDPOINT_URL_DYNAMODB and the SDK's own
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/powertools"
)

func main() { program.Start(setUp) }

type handler = func(context.Context, json.RawMessage) (answer, error)

func setUp(ctx context.Context) (handler, error) {
	observer, err := program.Observer()
	if err != nil {
		return nil, err
	}
	effects, err := newEffects()
	if err != nil {
		return nil, err
	}
	dialect, keys, err := newKeys()
	if err != nil {
		return nil, err
	}
	if effects.client, err = dynamoenv.Client(ctx); err != nil {
		return nil, err
	}
	table, err := dynamoenv.Open(ctx, &dynamoenv.Options{Client: effects.client})
	if err != nil {
		return nil, err
	}
	x, err := powertools.NewExecutor("shared", table, dialect, &idempotent.Config{
		Observer:  observer,
		Retention: time.Hour, // Powertools' default
	})
	if err != nil {
		return nil, err
	}
	return overRecords(x, keys, effects), nil
}

// newKeys returns the dialect and the keyer of the counterparts. In TypeScript
// they use the default of throwOnNoIdempotencyKey, which hashes an empty key.
func newKeys() (powertools.Dialect, *powertools.Keyer, error) {
	dialect, err := powertools.ParseDialect(os.Getenv("POWERTOOLS_DIALECT"))
	if err != nil {
		return 0, nil, fmt.Errorf("POWERTOOLS_DIALECT: %w", err)
	}
	keys, err := powertools.New(dialect, os.Getenv("POWERTOOLS_PREFIX"), os.Getenv("POWERTOOLS_KEY"), &powertools.Options{
		HashMissing: dialect == powertools.TypeScript,
		Validation:  os.Getenv("POWERTOOLS_VALIDATION"),
	})
	if err != nil {
		return 0, nil, fmt.Errorf("POWERTOOLS_PREFIX, POWERTOOLS_KEY and POWERTOOLS_VALIDATION: %w", err)
	}
	return dialect, keys, nil
}
