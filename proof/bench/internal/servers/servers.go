// Package servers starts the servers of the stores on this machine.
package servers

import (
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/proof/bench/internal/work"
)

// A Server stores the records of some series.
type Server struct {
	Version string // with its name
	Addr    string // host and port
	// Endpoint returns the address that a worker is given to reach the server at addr.
	Endpoint    func(addr string) string
	CreateTable func(ctx context.Context, table string) error
	DropTable   func(ctx context.Context, table string) error
	stop        func() error
}

// All are the servers of a run.
type All struct {
	ByName map[work.Server]Server
	Client *dynamodb.Client
}

// Start finds or starts the servers.
func Start(ctx context.Context, log io.Writer) (All, error) {
	a := All{ByName: map[work.Server]Server{}}
	for name, start := range map[work.Server]func(context.Context, io.Writer) (Server, error){
		work.DynamoDB: a.startDynamoDB, work.PostgreSQL: startPostgreSQL, work.Redis: startRedis,
	} {
		s, err := start(ctx, log)
		if err != nil {
			return All{}, errors.Join(err, a.Stop())
		}
		a.ByName[name] = s
	}
	return a, nil
}

// Stop stops the servers that Start has started.
func (a All) Stop() error {
	var errs []error
	for _, s := range a.ByName {
		errs = append(errs, s.stop())
	}
	return errors.Join(errs...)
}
