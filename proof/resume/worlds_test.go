package resume

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/redis/redislocal"
)

// shop is the compiled program.
var shop string

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(withPostgreSQL{m})) }

type withPostgreSQL struct{ tests *testing.M }

func (w withPostgreSQL) Run() int { return postgreslocal.Main(withRedis(w)) }

type withRedis struct{ tests *testing.M }

func (w withRedis) Run() int { return redislocal.Main(compiled(w), nil) }

type compiled struct{ tests *testing.M }

func (c compiled) Run() int {
	var err error
	if shop, err = lambdaruntime.Build(context.Background(), ".", "./shop"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(filepath.Dir(shop))
	return c.tests.Run()
}

// worlds are the stores.
var worlds = map[string]func(*testing.T) world{"DynamoDB": onDynamoDB, "PostgreSQL": onPostgreSQL, "Redis": onRedis}

func onDynamoDB(t *testing.T) world {
	client, orders := dynamodblocal.NewTable(t)
	records := "records-" + orders
	check.Must(t, dynamo.CreateTable(t.Context(), client, records, &dynamo.Options{Resume: true}))
	o := client.Options()
	key, err := o.Credentials.Retrieve(t.Context())
	check.Must(t, err)
	env := []string{"STORE=DynamoDB", "RECORDS=" + records, "ORDERS=" + orders, "AWS_ENDPOINT_URL_DYNAMODB=" + *o.BaseEndpoint,
		"AWS_REGION=" + o.Region, "AWS_ACCESS_KEY_ID=" + key.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + key.SecretAccessKey}
	return world{env: env, orders: func() int {
		out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &orders, ConsistentRead: aws.Bool(true)})
		check.Must(t, err)
		return int(out.Count)
	}}
}

func onPostgreSQL(t *testing.T) world {
	url := postgreslocal.NewDatabase(t)
	statements, err := postgres.SQL("records", &postgres.Options{Resume: true})
	check.Must(t, err)
	_, err = postgreslocal.Run(t.Context(), url, append(statements, "CREATE TABLE orders (id text PRIMARY KEY, customer text)")...)
	check.Must(t, err)
	return world{env: []string{"STORE=PostgreSQL", "DATABASE_URL=" + url, "RECORDS=records", "ORDERS=orders"}, orders: func() int {
		rows, err := postgreslocal.Run(t.Context(), url, "SELECT id FROM orders")
		check.Must(t, err)
		return len(rows)
	}}
}

func onRedis(t *testing.T) world {
	client, prefix := redislocal.NewClient(t)
	return world{env: []string{"STORE=Redis", "REDIS_ADDR=" + client.Options().Addr, "RECORDS=" + prefix}, orders: func() int { return -1 }}
}
