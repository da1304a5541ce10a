// Command postgres is the function of docs/postgres.md.
package main

import (
	"context"
	"errors"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/postgres"
)

type payment struct {
	PaymentID string `json:"paymentId"`
	Account   string `json:"account"`
	Cents     int64  `json:"cents"`
}

func key(p payment) (idempotent.Key, error) {
	return idempotent.Key{ID: p.PaymentID, Payload: p}, nil
}

// book adds a payment to its account, in the transaction in which the call completes.
func book(ctx context.Context, p payment) (balance int64, err error) {
	tx, err := postgres.Transaction(ctx)
	if err != nil {
		return 0, err
	}
	row := tx.QueryRow(ctx, "UPDATE accounts SET balance = balance + $2 WHERE id = $1 RETURNING balance", p.Account, p.Cents)
	err = row.Scan(&balance)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, idempotent.Permanent(errors.New("there is no such account"))
	}
	return balance, err
}

// openStore returns a store on the primary server. It connects at the first call.
func openStore(ctx context.Context) (*postgres.Store, error) {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		return nil, err
	}
	config.MaxConns = 2 // one for the transaction of a call, and one for all beside it
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return postgres.New(pool, "idempotency", nil)
}

func main() {
	store, err := openStore(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("book-payment", store, nil)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handlers.Invoke(x, key, book))
}
