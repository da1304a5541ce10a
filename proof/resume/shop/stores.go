package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/redis"
)

// open returns the store of the environment, and the function that adds an order to the
// transaction of its call, or does nothing where a store has none.
func open(ctx context.Context) (driver.Store, func(ctx context.Context, id, customer string) error, error) {
	records, orders := os.Getenv("RECORDS"), os.Getenv("ORDERS")
	switch name := os.Getenv("STORE"); name {
	case "DynamoDB":
		c, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, nil, err
		}
		s, err := dynamo.New(dynamodb.NewFromConfig(c), records, &dynamo.Options{Resume: true})
		return transactional{killing[driver.Operable]{s}, s}, func(ctx context.Context, id, customer string) error {
			dynamo.Collect(ctx).Put(orders, map[string]string{"id": id, "customer": customer})
			return nil
		}, err
	case "PostgreSQL":
		pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
		if err != nil {
			return nil, nil, err
		}
		s, err := postgres.New(pool, records, &postgres.Options{Resume: true})
		return transactional{killing[driver.Operable]{s}, s}, func(ctx context.Context, id, customer string) error {
			postgres.Collect(ctx).Exec("INSERT INTO "+orders+" VALUES ($1, $2)", id, customer)
			return nil
		}, err
	case "Redis":
		s, err := redis.New(goredis.NewClient(&goredis.Options{Addr: os.Getenv("REDIS_ADDR")}), &redis.Options{Prefix: records})
		return killing[driver.Operable]{s}, func(context.Context, string, string) error { return nil }, err
	default:
		return nil, nil, fmt.Errorf("STORE is %q", name)
	}
}

// transactional is a store with transactions.
type transactional struct {
	killing[driver.Operable]
	commits driver.Transactional
}

func (t transactional) Commit(ctx context.Context, id string, with any) error {
	defer beginCall()()
	return t.commits.Commit(ctx, id, with)
}
