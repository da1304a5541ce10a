package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
)

// PostgreSQL is a database of its own.
type PostgreSQL struct {
	server  *postgreslocal.Server
	url     *url.URL // of the database
	pool    *pgxpool.Pool
	version string
}

func startPostgreSQL(ctx context.Context, log io.Writer) (_ *PostgreSQL, err error) {
	server, err := postgreslocal.Start(ctx, &postgreslocal.Options{Log: log})
	if err != nil {
		return nil, err
	}
	p := &PostgreSQL{server: server}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	text, err := server.NewDatabase(ctx, "bench")
	if err != nil {
		return nil, err
	}
	if p.url, err = url.Parse(text); err != nil {
		return nil, err
	}
	if p.pool, err = pgxpool.New(ctx, text); err != nil {
		return nil, err
	}
	var version string
	if err := p.pool.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return nil, fmt.Errorf("server_version: %w", err)
	}
	version, _, _ = strings.Cut(version, " ") // (Debian …)
	p.version = "PostgreSQL " + version
	return p, nil
}

// Version implements [Server].
func (p *PostgreSQL) Version() string { return p.version }

// Addr implements [Server].
func (p *PostgreSQL) Addr() string { return p.url.Host }

// Endpoint implements [Server]: a connection string.
func (p *PostgreSQL) Endpoint(addr string) string {
	to := *p.url
	to.Host = addr
	return to.String()
}

// CreateTable implements [Server].
func (p *PostgreSQL) CreateTable(ctx context.Context, table string) error {
	return postgres.CreateTable(ctx, p.pool, table, nil)
}

// DropTable implements [Server].
func (p *PostgreSQL) DropTable(ctx context.Context, table string) error {
	_, err := p.pool.Exec(ctx, "DROP TABLE "+pgx.Identifier{table}.Sanitize())
	return err
}

// Stop implements [Server].
func (p *PostgreSQL) Stop() error {
	if p.pool != nil {
		p.pool.Close()
	}
	var err error
	if p.url != nil {
		err = p.server.DropDatabase(context.Background(), p.url.String())
	}
	return errors.Join(err, p.server.Stop())
}
