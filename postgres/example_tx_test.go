package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

type Transfer struct {
	ID, From, To string
	Amount       int64
}

var errFunds = errors.New("the balance does not cover the amount")

// transfer runs in the transaction in which its call completes.
func transfer(ctx context.Context, t Transfer) (string, error) {
	tx, err := postgres.Transaction(ctx)
	if err != nil {
		return "", err
	}
	var balance int64
	if err := tx.QueryRow(ctx, "SELECT balance FROM accounts WHERE id = $1 FOR UPDATE", t.From).Scan(&balance); err != nil {
		return "", err
	}
	if balance < t.Amount {
		return "", idempotent.Permanent(errFunds)
	}
	_, err = tx.Exec(ctx, `UPDATE accounts SET balance = balance + CASE id WHEN $1 THEN -$3::bigint ELSE $3 END
		WHERE id IN ($1, $2)`, t.From, t.To, t.Amount)
	return "transferred", err
}

// transferCollected is the same without a connection while it runs.
func transferCollected(ctx context.Context, t Transfer) (string, error) {
	tx := postgres.Collect(ctx)
	tx.Require(func(*postgres.TransactionError) error { return idempotent.Permanent(errFunds) },
		"UPDATE accounts SET balance = balance - $2 WHERE id = $1 AND balance >= $2", t.From, t.Amount)
	tx.Exec("UPDATE accounts SET balance = balance + $2 WHERE id = $1", t.To, t.Amount)
	return "transferred", nil
}

// The booking and the completion of its call are one transaction.
func ExampleTransaction() {
	ctx := context.Background()
	store, err := openStore(ctx)
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("book", store, nil)
	if err != nil {
		log.Fatal(err)
	}
	book := func(ctx context.Context, p Payment) (balance int64, err error) {
		tx, err := postgres.Transaction(ctx)
		if err != nil {
			return 0, err
		}
		row := tx.QueryRow(ctx, "UPDATE accounts SET balance = balance + $1 WHERE id = 'shop' RETURNING balance", p.Amount)
		err = row.Scan(&balance)
		return balance, err // nil commits, an error rolls back
	}
	handler := idempotent.Wrap(x, idempotent.Field(func(p Payment) string { return p.ID }), book)
	balance, err := handler(ctx, Payment{ID: "order-1", Amount: 1999})
	fmt.Println(balance, err)
}

func TestTransactionExamplesRun(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), postgreslocal.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := postgres.CreateTable(t.Context(), pool, "idempotency", nil); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"CREATE TABLE accounts (id text PRIMARY KEY, balance bigint)", "INSERT INTO accounts VALUES ('alice', 100), ('bob', 0)"} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	store, err := postgres.New(pool, "idempotency", nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := idempotent.New("transfer", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, fn := range map[string]func(context.Context, Transfer) (string, error){"1": transfer, "2": transferCollected} {
		handler := idempotent.Wrap(x, idempotent.Field(func(t Transfer) string { return t.ID }), fn)
		for range 2 {
			if got, err := handler(t.Context(), Transfer{id, "alice", "bob", 30}); got != "transferred" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
		if _, err := handler(t.Context(), Transfer{id + " too much", "alice", "bob", 1000}); err != errFunds {
			t.Errorf("%v", err)
		}
	}
	var alice, bob int64
	if err := pool.QueryRow(t.Context(), "SELECT (SELECT balance FROM accounts WHERE id = 'alice'), (SELECT balance FROM accounts WHERE id = 'bob')").Scan(&alice, &bob); err != nil || alice != 40 || bob != 60 {
		t.Errorf("%d and %d, %v", alice, bob, err)
	}
}
