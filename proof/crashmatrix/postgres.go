package crashmatrix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

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
		return &world{
			servers: []kill.Server{{Name: "postgres", Variable: "DATABASE_URL", URL: url}},
			env:     []string{"IDEMPOTENCY_TABLE=idempotency", "TRANSFER_MODE=" + mode},
			event:   fmt.Appendf(nil, `{"transferId":"t-1","from":"alice","to":"bob","amount":%d}`, amount),
			final:   succeeded,
			count: func(ctx context.Context, _ point) (effects, error) {
				rows, err := postgreslocal.Run(ctx, url, "SELECT balance FROM accounts ORDER BY id")
				if err != nil || len(rows) != 2 {
					return effects{}, fmt.Errorf("%d accounts, %w", len(rows), err)
				}
				alice, err := strconv.Atoi(rows[0][0])
				if err != nil {
					return effects{}, err
				}
				bob, err := strconv.Atoi(rows[1][0])
				return transferred(alice, bob), err
			},
			close: func() error { return s.database.server.DropDatabase(context.WithoutCancel(ctx), url) },
		}, nil
	}
}
