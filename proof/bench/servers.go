package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/proof/bench/internal/meter"
	"github.com/lambda-once/once/proof/bench/internal/work"
	"github.com/lambda-once/once/proof/internal/tables"
	"github.com/lambda-once/once/redis/redislocal"
)

// A server has the records of some series in a table, or with a prefix.
type server struct {
	table     string
	endpoints map[time.Duration]string // by the added latency
}

// versions are the names of the servers and their versions.
type versions struct{ DynamoDB, PostgreSQL, Redis string }

// servers are those of all stores, on this machine.
type servers struct {
	plan
	versions
	log      io.Writer
	of       map[work.Server]server
	dynamodb *tables.Server
	filled   map[int]string // tables of DynamoDB, by their number of records
	meter    *meter.Meter   // in front of DynamoDB
	redis    *redis.Client
	stops    []func() error
}

// startServers finds or starts the servers, and fills tables.
func startServers(ctx context.Context, p plan, log io.Writer) (*servers, error) {
	s := &servers{plan: p, log: log, of: map[work.Server]server{}, filled: map[int]string{}}
	for _, start := range []func(context.Context) error{s.startDynamoDB, s.fillTables, s.startPostgreSQL, s.startRedis} {
		if err := start(ctx); err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
	return s, nil
}

// stop stops the servers that were started, the last first.
func (s *servers) stop() (err error) {
	for _, stop := range slices.Backward(s.stops) {
		err = errors.Join(err, stop())
	}
	return err
}

// add adds a server, with proxies that add the latencies. addr is the host and port that
// the endpoint contains.
func (s *servers) add(on work.Server, addr, endpoint, table string) error {
	endpoints := map[time.Duration]string{0: endpoint}
	for _, latency := range s.latencies[1:] {
		d, err := wire.Delay(addr, latency)
		if err != nil {
			return err
		}
		s.stops = append(s.stops, d.Close)
		endpoints[latency] = strings.Replace(endpoint, addr, d.Addr(), 1)
	}
	s.of[on] = server{table, endpoints}
	return nil
}

func (s *servers) startDynamoDB(ctx context.Context) (err error) {
	if s.dynamodb, err = tables.Start(ctx, s.log); err != nil {
		return err
	}
	s.stops = append(s.stops, s.dynamodb.Close)
	s.DynamoDB = "DynamoDB Local " + dynamoDBVersion()
	endpoint := s.dynamodb.Endpoint()
	if s.meter, err = meter.New(endpoint); err != nil {
		return err
	}
	s.stops = append(s.stops, s.meter.Close)
	table, err := s.dynamodb.Create(ctx)
	if err != nil {
		return err
	}
	return s.add(work.DynamoDB, strings.TrimPrefix(endpoint, "http://"), endpoint, table)
}

// dynamoDBVersion returns the name of the folder into which package dynamodblocal has
// fetched the program.
func dynamoDBVersion() string {
	cache, unknown := os.UserCacheDir()
	found, err := filepath.Glob(filepath.Join(cache, "once", "dynamodb-local", "*", "DynamoDBLocal.jar"))
	if errors.Join(unknown, err) != nil || len(found) != 1 || os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") != "" {
		return "of unknown version"
	}
	return filepath.Base(filepath.Dir(found[0]))
}

func (s *servers) startPostgreSQL(ctx context.Context) (err error) {
	if err = s.addPostgreSQL(ctx, work.PostgreSQL, postgreslocal.Start); err == nil {
		err = s.addPostgreSQL(ctx, work.Durable, postgreslocal.StartDurable)
	}
	return err
}

func (s *servers) addPostgreSQL(
	ctx context.Context, on work.Server, start func(context.Context, *postgreslocal.Options) (*postgreslocal.Server, error),
) error {
	local, err := start(ctx, &postgreslocal.Options{Log: s.log})
	if err != nil {
		return err
	}
	s.stops = append(s.stops, local.Stop)
	database, err := local.NewDatabase(ctx, "bench")
	if err != nil {
		return err
	}
	s.stops = append(s.stops, func() error { return local.DropDatabase(context.Background(), database) })
	const table = "records"
	statements, err := postgres.SQL(table, nil)
	if err != nil {
		return err
	}
	statements = append(statements, "SELECT split_part(current_setting('server_version'), ' ', 1)")
	version, err := postgreslocal.Run(ctx, database, statements...)
	if err != nil {
		return err
	}
	s.PostgreSQL = "PostgreSQL " + version[0][0]
	u, err := url.Parse(database)
	if err != nil {
		return err
	}
	return s.add(on, u.Host, database, table)
}

// startRedis starts Redis or Valkey, where a table is a prefix. The keys expire: a server
// that was found running has keys of other programs.
func (s *servers) startRedis(ctx context.Context) error {
	local, err := redislocal.Start(ctx, &redislocal.Options{Log: s.log})
	if err != nil {
		return err
	}
	s.stops = append(s.stops, local.Stop)
	s.redis = local.Client()
	info := s.redis.InfoMap(ctx, "server")
	if info.Err() != nil {
		return info.Err()
	}
	s.Redis = "Redis " + info.Item("Server", "redis_version")
	if version := info.Item("Server", "valkey_version"); version != "" {
		s.Redis = "Valkey " + version
	}
	return s.add(work.Redis, local.Addr(), local.Addr(), "bench-"+rand.Text())
}
