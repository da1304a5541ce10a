// Command postgres is a function whose records and effects are in PostgreSQL.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/postgres"
)

type payment struct {
	ID     string
	Amount int64
}

func key(p payment) (idempotent.Key, error) { return idempotent.Key{ID: p.ID, Payload: p}, nil }

func pay(ctx context.Context, p payment) (int64, error) {
	tx, err := postgres.Transaction(ctx)
	if err != nil {
		return 0, err
	}
	var balance int64
	err = tx.QueryRow(ctx, "UPDATE account SET balance = balance - $1 RETURNING balance", p.Amount).Scan(&balance)
	return balance, err
}

func handler(ctx context.Context, url string) (func(context.Context, payment) (int64, error), error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	store, err := postgres.New(pool, "idempotency", nil)
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
	h, err := handler(context.Background(), os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(h)
}
