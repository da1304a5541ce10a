package bench

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/proof/internal/tables"
	"github.com/lambda-once/once/redis/redislocal"
)

// The servers that records are on.
const (
	onDynamoDB   = "DynamoDB"
	onPostgreSQL = "PostgreSQL"
	onDurable    = "PostgreSQL with fsync"
	onRedis      = "Redis"
	inMemory     = "memory"
)

// latencies are added to each round trip. At 0 there is no proxy.
var latencies = []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond}

// A server has the records of some series in a table, or with a prefix.
type server struct {
	version   string
	table     string
	endpoints map[time.Duration]string // by the added latency
}

var (
	servers = map[string]server{}
	stops   []func() error
)

// startServers finds or starts all servers.
func startServers(ctx context.Context) error {
	for _, start := range []func(context.Context) error{startDynamoDB, startPostgreSQL, startRedis} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stopServers stops what was started, the last first.
func stopServers() (err error) {
	for _, stop := range slices.Backward(stops) {
		err = errors.Join(err, stop())
	}
	return err
}

// addServer adds a server, with its proxies. host is the host and port in the endpoint.
func addServer(name, version, table, endpoint, host string) error {
	s := server{version, table, map[time.Duration]string{0: endpoint}}
	for _, latency := range latencies[1:] {
		addr, err := startDelay(host, latency)
		if err != nil {
			return err
		}
		s.endpoints[latency] = strings.Replace(endpoint, host, addr, 1)
	}
	servers[name] = s
	return nil
}

func startDynamoDB(ctx context.Context) error {
	local, err := tables.Start(ctx, os.Stderr)
	if err != nil {
		return err
	}
	stops = append(stops, local.Close)
	table, err := local.Create(ctx)
	if err != nil {
		return err
	}
	// Package dynamodblocal fetches a version into a folder of its name.
	version := "DynamoDB Local"
	cache, unknown := os.UserCacheDir()
	found, err := filepath.Glob(filepath.Join(cache, "once", "dynamodb-local", "*", "DynamoDBLocal.jar"))
	if errors.Join(unknown, err) == nil && len(found) == 1 {
		version += " " + filepath.Base(filepath.Dir(found[0]))
	}
	return addServer(onDynamoDB, version, table, local.Endpoint(), strings.TrimPrefix(local.Endpoint(), "http://"))
}

func startPostgreSQL(ctx context.Context) error {
	const table = "records"
	for name, start := range map[string]func(context.Context, *postgreslocal.Options) (*postgreslocal.Server, error){
		onPostgreSQL: postgreslocal.Start, onDurable: postgreslocal.StartDurable,
	} {
		local, err := start(ctx, &postgreslocal.Options{Log: os.Stderr})
		if err != nil {
			return err
		}
		stops = append(stops, local.Stop)
		database, err := local.NewDatabase(ctx, "bench")
		if err != nil {
			return err
		}
		stops = append(stops, func() error { return local.DropDatabase(context.Background(), database) })
		statements, err := postgres.SQL(table, nil)
		if err != nil {
			return err
		}
		statements = append(statements, "SELECT split_part(current_setting('server_version'), ' ', 1)")
		version, err := postgreslocal.Run(ctx, database, statements...)
		if err != nil {
			return err
		}
		u, err := url.Parse(database)
		if err != nil {
			return err
		}
		if err := addServer(name, "PostgreSQL "+version[0][0], table, database, u.Host); err != nil {
			return err
		}
	}
	return nil
}

// startRedis starts Redis or Valkey, where a table is a prefix and the keys expire.
func startRedis(ctx context.Context) error {
	local, err := redislocal.Start(ctx, &redislocal.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	stops = append(stops, local.Stop)
	info := local.Client().InfoMap(ctx, "server")
	version := "Redis " + info.Item("Server", "redis_version")
	if valkey := info.Item("Server", "valkey_version"); valkey != "" {
		version = "Valkey " + valkey
	}
	return errors.Join(info.Err(), addServer(onRedis, version, "bench", local.Addr(), local.Addr()))
}
