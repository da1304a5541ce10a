package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/local/crashtest"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

func TestMain(m *testing.M) { os.Exit(postgreslocal.Main(m)) }

// The function is compiled, and killed before and after each of its round trips.
func TestPaymentIsBookedOnceWhateverCrashes(t *testing.T) {
	url := postgreslocal.NewDatabase(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := postgres.CreateTable(t.Context(), pool, "idempotency", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "CREATE TABLE accounts (id text PRIMARY KEY, balance bigint NOT NULL)"); err != nil {
		t.Fatal(err)
	}

	crashtest.Run(t, crashtest.Function{
		Servers: []crashtest.Server{{Variable: "DATABASE_URL", URL: url, Name: "postgres"}},
	}, func(ctx context.Context, run string) (event []byte, err error) {
		_, err = pool.Exec(ctx, "INSERT INTO accounts VALUES ($1, 100)", run)
		return fmt.Appendf(nil, `{"paymentId": %q, "account": %q, "cents": 30}`, run, run), err
	}, func(ctx context.Context, run string) error {
		var balance int64
		err := pool.QueryRow(ctx, "SELECT balance FROM accounts WHERE id = $1", run).Scan(&balance)
		if err == nil && balance != 130 {
			err = fmt.Errorf("the balance is %d, want 130", balance)
		}
		return err
	})
}
