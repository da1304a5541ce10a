package deployed

import (
	"context"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

const schema = "schema.sql"

// NewDatabase returns a database of PostgreSQL with the tables of the example's schema.
func NewDatabase(t postgreslocal.TB) (url string, pool *pgxpool.Pool) {
	t.Helper()
	ctx := context.Background()
	url = postgreslocal.NewDatabase(t)
	text, err := os.ReadFile(schema)
	if err == nil {
		_, err = postgreslocal.Run(ctx, url, string(text))
	}
	if err == nil {
		pool, err = pgxpool.New(ctx, url)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(pool.Close)
	return url, pool
}

// HasSchema requires that the schema of the example is as package postgres states it.
func HasSchema(t postgreslocal.TB) {
	t.Helper()
	statements, err := postgres.SQL("idempotency", nil)
	if err != nil {
		t.Fatalf("%v", err)
	}
	text, err := os.ReadFile(schema)
	for _, statement := range statements {
		if err != nil || !strings.Contains(string(text), statement+";\n") {
			t.Fatalf("%s, %v, has no\n%s", schema, err, statement)
		}
	}
}
