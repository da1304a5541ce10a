// Command redis is a function whose records are in Redis or Valkey.
package main

import (
	"context"
	"crypto/rand"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	client "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/redis"
)

type payment struct {
	ID     string
	Amount int64
}

func key(p payment) (idempotent.Key, error) { return idempotent.Key{ID: p.ID, Payload: p}, nil }

func pay(context.Context, payment) (string, error) { return rand.Text(), nil }

func handler(c client.UniversalClient, prefix string) (func(context.Context, payment) (string, error), error) {
	store, err := redis.New(c, &redis.Options{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("pay", store, nil)
	if err != nil {
		return nil, err
	}
	return idempotent.Wrap(x, key, pay), nil
}

func main() {
	h, err := handler(client.NewClient(&client.Options{Addr: os.Getenv("REDIS_ADDR"), ContextTimeoutEnabled: true}), "once:")
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
