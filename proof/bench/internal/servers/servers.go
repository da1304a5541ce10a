// Package servers starts what stores are on: real servers on this machine.
package servers

import (
	"context"
	"errors"
	"io"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A Server keeps the records of some series.
type Server interface {
	// Version returns what the server calls itself.
	Version() string
	// Addr returns its host and port.
	Addr() string
	// Endpoint returns what a worker connects to, if it reaches the server at addr.
	Endpoint(addr string) string
	CreateTable(ctx context.Context, table string) error
	DropTable(ctx context.Context, table string) error
	Stop() error
}

// All are the servers of a run.
type All struct {
	DynamoDB   *DynamoDB
	PostgreSQL *PostgreSQL
	Redis      *Redis
}

// Start finds or starts the servers.
func Start(ctx context.Context, log io.Writer) (a All, err error) {
	if a.DynamoDB, err = startDynamoDB(ctx, log); err != nil {
		return All{}, err
	}
	if a.PostgreSQL, err = startPostgreSQL(ctx, log); err != nil {
		return All{}, errors.Join(err, a.DynamoDB.Stop())
	}
	if a.Redis, err = startRedis(ctx, log); err != nil {
		return All{}, errors.Join(err, a.PostgreSQL.Stop(), a.DynamoDB.Stop())
	}
	return a, nil
}

// ByName returns the servers by the names that series have for them.
func (a All) ByName() map[work.Server]Server {
	return map[work.Server]Server{work.DynamoDB: a.DynamoDB, work.PostgreSQL: a.PostgreSQL, work.Redis: a.Redis}
}

// Stop stops those servers that Start has started.
func (a All) Stop() error {
	return errors.Join(a.Redis.Stop(), a.PostgreSQL.Stop(), a.DynamoDB.Stop())
}
