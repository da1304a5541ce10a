package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/local/crashtest"
	"github.com/lambda-once/once/local/postgreslocal"
)

func newDatabase(t *testing.T, balances map[string]int64) (function, []string) {
	t.Helper()
	url, pool := deployed.NewDatabase(t)
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

func TestSchemaHasTheStatementsOfTheStore(t *testing.T) { deployed.HasSchema(t) }

// The kit of a user kills at each round trip to PostgreSQL, too.
func TestTransferInPostgreSQLSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	url, _ := deployed.NewDatabase(t)
	balances := func(ctx context.Context, run string) ([]string, error) {
		rows, err := postgreslocal.Run(ctx, url, "SELECT balance FROM accounts WHERE id IN ('alice-"+run+"', 'bob-"+run+"') ORDER BY id")
		return slices.Concat(rows...), err
	}
	crashtest.Run(t, crashtest.Function{
		Binary:  deployed.Binary,
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
