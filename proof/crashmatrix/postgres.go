package crashmatrix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lambda-once/once/local/kill"
	"github.com/lambda-once/once/local/postgreslocal"
)

// database is a PostgreSQL server, and the tables of examples/transfer.
type database struct {
	server *postgreslocal.Server
	schema string
}

func startDatabase(ctx context.Context, root string) (*database, error) {
	schema, err := os.ReadFile(filepath.Join(root, "examples", "transfer", "schema.sql"))
	if err != nil {
		return nil, err
	}
	server, err := postgreslocal.Start(ctx, nil)
	return &database{server, string(schema)}, err
}

// transferInPostgreSQL transfers money once in a mode of examples/transfer, in a database
// of its own.
func transferInPostgreSQL(mode string) func(context.Context, *stage) (*world, error) {
	return func(ctx context.Context, s *stage) (*world, error) {
		url, err := s.database.server.NewDatabase(ctx, "crashmatrix")
		if err != nil {
			return nil, err
		}
		open := fmt.Sprintf("INSERT INTO accounts VALUES ('alice', %d), ('bob', %d)", opening, opening)
		if _, err := postgreslocal.Run(ctx, url, s.database.schema, open); err != nil {
			return nil, err
		}
		server := kill.Server{Name: "postgres", Variable: "DATABASE_URL", URL: url}
		w := transfer(mode, server, "IDEMPOTENCY_TABLE=idempotency")
		w.Close = func() error { return s.database.server.DropDatabase(context.WithoutCancel(ctx), url) }
		w.count = func(ctx context.Context, _ kill.Point) (effects, error) {
			rows, err := postgreslocal.Run(ctx, url, "SELECT id, balance FROM accounts")
			balances := map[string]string{}
			for _, row := range rows {
				balances[row[0]] = row[1]
			}
			return transferred(balances, err)
		}
		return w, nil
	}
}
