package main

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/redis"
	"github.com/lambda-once/once/redis/redislocal"
)

// open returns the store of the environment, and how an order is placed there: in the
// transaction of the call, or nowhere if the store has none.
func open(ctx context.Context) (driver.Store, func(context.Context, receipt) (receipt, error), error) {
	if url := os.Getenv("DATABASE_URL"); url != "" {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return nil, nil, err
		}
		store, err := postgres.New(pool, "records", &postgres.Options{Resume: true})
		return store, func(ctx context.Context, r receipt) (receipt, error) {
			postgres.Collect(ctx).Exec("INSERT INTO orders VALUES ($1)", r.ID)
			return r, nil
		}, err
	}
	if url := os.Getenv("REDIS_URL"); url != "" {
		o, err := goredis.ParseURL(url)
		if err != nil {
			return nil, nil, err
		}
		o.DisableIdentity = true // two calls less
		store, err := redis.New(goredis.NewClient(o), &redis.Options{Prefix: os.Getenv("PREFIX")})
		return store, func(_ context.Context, r receipt) (receipt, error) { return r, nil }, err
	}
	store, err := dynamoenv.Open(ctx, &dynamoenv.Options{Store: &dynamo.Options{Resume: true}})
	return store, orders{table: os.Getenv("ORDERS_TABLE")}.place, err
}

// A world is a store with tables of one trial.
type world struct {
	driver.Operable
	server string // the variable of its URL
	url    string
	env    []string
	placed func() []int // how many orders, and messages, are stored
}

var worlds = map[string]func(*testing.T) world{"DynamoDB": onDynamoDB, "PostgreSQL": onPostgreSQL, "Redis": onRedis}

func onDynamoDB(t *testing.T) world {
	t.Helper()
	client, orders := dynamodblocal.NewTable(t)
	records, messages := "records-"+orders, "outbox-"+orders
	check.Must(t, dynamo.CreateTable(t.Context(), client, records, &dynamo.Options{Resume: true}))
	check.Must(t, outbox.CreateTable(t.Context(), client, messages))
	store, err := dynamo.New(client, records, &dynamo.Options{Resume: true})
	check.Must(t, err)
	const server = "AWS_ENDPOINT_URL_DYNAMODB"
	return world{Operable: store, server: server, url: os.Getenv(server), env: []string{
		"IDEMPOTENCY_TABLE=" + records, "ORDERS_TABLE=" + orders, "OUTBOX_TABLE=" + messages, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
	}, placed: func() []int {
		return []int{len(deployed.Items(t, client, orders)), len(deployed.Items(t, client, messages))}
	}}
}

func onPostgreSQL(t *testing.T) world {
	t.Helper()
	url := postgreslocal.NewDatabase(t)
	statements, err := postgres.SQL("records", &postgres.Options{Resume: true})
	check.Must(t, err)
	_, err = postgreslocal.Run(t.Context(), url, append(statements, "CREATE TABLE orders (id text PRIMARY KEY)")...)
	check.Must(t, err)
	pool, err := pgxpool.New(t.Context(), url)
	check.Must(t, err)
	t.Cleanup(pool.Close)
	store, err := postgres.New(pool, "records", nil)
	check.Must(t, err)
	return world{Operable: store, server: "DATABASE_URL", url: url, placed: func() []int {
		rows, err := postgreslocal.Run(t.Context(), url, "SELECT id FROM orders")
		check.Must(t, err)
		return []int{len(rows)}
	}}
}

func onRedis(t *testing.T) world {
	t.Helper()
	client, prefix := redislocal.NewClient(t)
	store, err := redis.New(client, &redis.Options{Prefix: prefix})
	check.Must(t, err)
	return world{Operable: store, server: "REDIS_URL", url: "redis://" + client.Options().Addr + "?protocol=2&read_timeout=1m", env: []string{"PREFIX=" + prefix}, placed: func() []int { return nil }}
}
