package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/local/crashtest"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

func schema(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newDatabase(t *testing.T, balances map[string]int64) (function, []string) {
	t.Helper()
	url := postgreslocal.NewDatabase(t)
	if _, err := postgreslocal.Run(t.Context(), url, schema(t)); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for id, balance := range balances {
		if _, err := pool.Exec(t.Context(), "INSERT INTO accounts VALUES ($1, $2)", id, balance); err != nil {
			t.Fatal(err)
		}
	}
	return function{pool: pool}, []string{"IDEMPOTENCY_TABLE=idempotency", "DATABASE_URL=" + url}
}

// balancesInDatabase returns all balances at one moment: those of one statement.
func (f function) balancesInDatabase(t *testing.T, ids ...string) []int64 {
	t.Helper()
	rows, err := f.pool.Query(t.Context(), "SELECT balance FROM accounts WHERE id = ANY($1) ORDER BY array_position($1, id)", ids)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(list) != len(ids) {
		t.Fatalf("%v of %q, %v", list, ids, err)
	}
	return list
}

// The migration is what the library says.
func TestSchemaHasTheStatementsOfTheStore(t *testing.T) {
	statements, err := postgres.SQL("idempotency", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if !strings.Contains(schema(t), statement+";\n") {
			t.Errorf("schema.sql has no\n%s", statement)
		}
	}
}

// The kit of a user kills at each round trip to PostgreSQL, too.
func TestTransferInPostgreSQLSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	url := postgreslocal.NewDatabase(t)
	if _, err := postgreslocal.Run(t.Context(), url, schema(t)); err != nil {
		t.Fatal(err)
	}
	balances := func(ctx context.Context, run string) ([]string, error) {
		rows, err := postgreslocal.Run(ctx, url, "SELECT balance FROM accounts WHERE id IN ('alice-"+run+"', 'bob-"+run+"') ORDER BY id")
		return slices.Concat(rows...), err
	}
	crashtest.Run(t, crashtest.Function{
		Binary:  binary,
		Env:     []string{"IDEMPOTENCY_TABLE=idempotency", "TRANSFER_MODE=" + collected},
		Servers: []crashtest.Server{{Variable: "DATABASE_URL", URL: url, Name: "postgres"}},
	}, func(ctx context.Context, run string) ([]byte, error) {
		_, err := postgreslocal.Run(ctx, url, "INSERT INTO accounts VALUES ('alice-"+run+"', 100), ('bob-"+run+"', 50)")
		return []byte(event(run, "alice-"+run, "bob-"+run, 30)), err
	}, func(ctx context.Context, run string) error {
		got, err := balances(ctx, run)
		if err == nil && !slices.Equal(got, []string{"70", "80"}) {
			err = &wrongBalancesError{got}
		}
		return err
	})
}

type wrongBalancesError struct{ got []string }

func (e *wrongBalancesError) Error() string {
	return "the balances are " + strings.Join(e.got, " and ") + ", want 70 and 80"
}
