package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/redis/redislocal"
)

func (a *All) startDynamoDB(ctx context.Context, log io.Writer) (Server, error) {
	server, err := dynamodblocal.Start(ctx, &dynamodblocal.Options{Log: log})
	if err != nil {
		return Server{}, err
	}
	u, err := url.Parse(server.Endpoint())
	if err != nil {
		return Server{}, errors.Join(err, server.Stop())
	}
	a.Client = server.Client()
	return Server{
		Version:     "DynamoDB Local " + dynamoDBVersion(),
		Addr:        u.Host,
		Endpoint:    func(addr string) string { return "http://" + addr },
		CreateTable: func(ctx context.Context, table string) error { return dynamo.CreateTable(ctx, a.Client, table, nil) },
		DropTable: func(ctx context.Context, table string) error {
			_, err := a.Client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
			return err
		},
		stop: server.Stop,
	}, nil
}

// dynamoDBVersion returns the name of the folder into which package dynamodblocal has
// fetched the program.
func dynamoDBVersion() string {
	const unknown = "of unknown version"
	cache, err := os.UserCacheDir()
	if err != nil || os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") != "" {
		return unknown
	}
	found, err := filepath.Glob(filepath.Join(cache, "once", "dynamodb-local", "*", "DynamoDBLocal.jar"))
	if err != nil || len(found) != 1 {
		return unknown
	}
	return filepath.Base(filepath.Dir(found[0]))
}

func startPostgreSQL(ctx context.Context, log io.Writer) (_ Server, err error) {
	server, err := postgreslocal.Start(ctx, &postgreslocal.Options{Log: log})
	if err != nil {
		return Server{}, err
	}
	stop := server.Stop
	defer func() {
		if err != nil {
			err = errors.Join(err, stop())
		}
	}()
	database, err := server.NewDatabase(ctx, "bench")
	if err != nil {
		return Server{}, err
	}
	stop = func() error {
		return errors.Join(server.DropDatabase(context.Background(), database), server.Stop())
	}
	u, err := url.Parse(database)
	if err != nil {
		return Server{}, err
	}
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return Server{}, err
	}
	var version string
	if err := pool.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&version); err != nil {
		pool.Close()
		return Server{}, fmt.Errorf("version of PostgreSQL: %w", err)
	}
	return Server{
		Version: "PostgreSQL " + version,
		Addr:    u.Host,
		Endpoint: func(addr string) string {
			to := *u
			to.Host = addr
			return to.String()
		},
		CreateTable: func(ctx context.Context, table string) error { return postgres.CreateTable(ctx, pool, table, nil) },
		DropTable: func(ctx context.Context, table string) error {
			_, err := pool.Exec(ctx, "DROP TABLE "+pgx.Identifier{table}.Sanitize())
			return err
		},
		stop: func() error {
			pool.Close()
			return stop()
		},
	}, nil
}

var redisVersion = regexp.MustCompile(`(?m)^(redis|valkey)_version:(\S+)`)

// startRedis starts Redis or Valkey, where a table is a prefix. It drops none: the keys
// expire, and a server that was found running has keys of other programs.
func startRedis(ctx context.Context, log io.Writer) (Server, error) {
	server, err := redislocal.Start(ctx, &redislocal.Options{Log: log})
	if err != nil {
		return Server{}, err
	}
	info, err := server.Client().Info(ctx, "server").Result()
	if err != nil {
		return Server{}, errors.Join(fmt.Errorf("version of Redis: %w", err), server.Stop())
	}
	told := map[string]string{}
	for _, m := range redisVersion.FindAllStringSubmatch(info, -1) {
		told[m[1]] = m[2]
	}
	version := "Redis " + told["redis"]
	if told["valkey"] != "" { // which tells the version of Redis as well
		version = "Valkey " + told["valkey"]
	}
	nothing := func(context.Context, string) error { return nil }
	return Server{
		Version: version, Addr: server.Addr(), Endpoint: func(addr string) string { return addr },
		CreateTable: nothing, DropTable: nothing, stop: server.Stop,
	}, nil
}
