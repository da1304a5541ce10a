// Command sweep is a Lambda function that is invoked on a schedule. It deletes expired
// records where nothing else does: from a table of DynamoDB without time to live, or
// from one of PostgreSQL. infra.NewSweep deploys it.
//
// The event is not read. The response is how many records the run deleted, and whether
// it came to the end:
//
//	{"deleted": 1200, "complete": true}
//
// Environment:
//
//	IDEMPOTENCY_TABLE  table of the records
//	PGHOST, PGPORT, PGDATABASE, PGUSER, PGSSLMODE, PGSSLROOTCERT
//	                   the server of PostgreSQL. Without PGHOST and DATABASE_URL, the
//	                   table is one of DynamoDB
//	DATABASE_SECRET    ARN of the secret with username and password
//	DATABASE_IAM       in place of a password, the service whose tokens the server
//	                   accepts: rds-db or dsql
//	DATABASE_URL       in place of all of these, a connection string
//	SWEEP_OLDER_THAN   how long ago a record must have expired; default 1h, which is more
//	                   than any difference between the clocks of functions
//	SWEEP_RESERVE      the time before the timeout in which the run begins no further
//	                   page; default 15s
//	AWS_LAMBDA_LOG_LEVEL, AWS_ENDPOINT_URL_DYNAMODB and the SDK's own
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/examples/internal/program"
	"github.com/lambda-once/once/postgres"
)

func main() { program.Start(setUp) }

func setUp(ctx context.Context) (run func(context.Context) (report, error), err error) {
	if err := program.Log(); err != nil {
		return nil, err
	}
	s := new(sweep)
	if s.older, err = program.Duration("SWEEP_OLDER_THAN", time.Hour, time.Second); err != nil {
		return nil, err
	}
	if s.reserve, err = program.Duration("SWEEP_RESERVE", 15*time.Second, time.Second); err != nil {
		return nil, err
	}
	table := os.Getenv(dynamoenv.TableVariable)
	if table == "" {
		return nil, fmt.Errorf("%s is not set", dynamoenv.TableVariable)
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	if os.Getenv("PGHOST") != "" || os.Getenv("DATABASE_URL") != "" {
		pool, err := openPool(ctx, cfg)
		if err != nil {
			return nil, err
		}
		s.store, err = postgres.New(pool, table, &postgres.Options{DSQL: os.Getenv("DATABASE_IAM") == "dsql"})
		return s.run, err
	}
	client := dynamodb.NewFromConfig(cfg)
	s.positions = &positions{client, table}
	s.store, err = dynamo.New(client, table, nil)
	return s.run, err
}
