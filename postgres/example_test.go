package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

type Payment struct {
	ID     string
	Amount int64
}

func pay(_ context.Context, p Payment) (string, error) { return "paid " + p.ID, nil }

// openStore returns a store on the primary server.
func openStore(ctx context.Context) (*postgres.Store, error) {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		return nil, err
	}
	config.MaxConns = 2 // an execution environment runs one invocation at a time
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return postgres.New(pool, "idempotency", nil)
}

func Example() {
	ctx := context.Background()
	store, err := openStore(ctx)
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("pay", store, nil)
	if err != nil {
		log.Fatal(err)
	}
	handler := idempotent.Wrap(x, idempotent.Field(func(p Payment) string { return p.ID }), pay)
	receipt, err := handler(ctx, Payment{ID: "order-1", Amount: 1999})
	fmt.Println(receipt, err)
}

// Migrations of users contain this text.
func ExampleSQL() {
	statements, err := postgres.SQL("idempotency", nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, statement := range statements {
		fmt.Println(statement + ";")
	}
	// Output:
	// CREATE TABLE IF NOT EXISTS "idempotency" (
	//     "id" text COLLATE "C" PRIMARY KEY,
	//     "status" text NOT NULL,
	//     "owner" text NOT NULL DEFAULT '',
	//     "attempt" bigint NOT NULL DEFAULT 0,
	//     "refunds" bigint NOT NULL DEFAULT 0,
	//     "lease" timestamptz,
	//     "expires" timestamptz,
	//     "fingerprint" text NOT NULL DEFAULT '',
	//     "payload" text NOT NULL DEFAULT '',
	//     "unavailable" text NOT NULL DEFAULT '',
	//     "data" bytea,
	//     "steps" bytea,
	//     "began" timestamptz,
	//     "request" bytea,
	//     "ended" text
	// );
	// CREATE INDEX IF NOT EXISTS "idempotency_expires" ON "idempotency" ("expires");
}

// sweep is the handler of a function that runs every hour.
func sweep(ctx context.Context, store *postgres.Store) error {
	for after := ""; ; {
		_, progress, err := store.Sweep(ctx, time.Now().Add(-time.Hour), 500, after)
		if after = progress.Next; err != nil || after == "" {
			return err // the next run continues
		}
	}
}

func TestExampleRuns(t *testing.T) {
	t.Setenv("DATABASE_URL", postgreslocal.NewDatabase(t))
	store, err := openStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), os.Getenv("DATABASE_URL"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := postgres.CreateTable(t.Context(), pool, "idempotency", nil); err != nil {
		t.Fatal(err)
	}
	x, err := idempotent.New("pay", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	handler := idempotent.Wrap(x, idempotent.Field(func(p Payment) string { return p.ID }), pay)
	for range 2 {
		if receipt, err := handler(t.Context(), Payment{ID: "order-1"}); receipt != "paid order-1" || err != nil {
			t.Errorf("%q, %v", receipt, err)
		}
	}
	if err := sweep(t.Context(), store); err != nil {
		t.Error(err)
	}
}
