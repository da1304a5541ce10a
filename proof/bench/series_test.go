package bench

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/postgres"
	onceredis "github.com/lambda-once/once/redis"
)

// A series is a way to make calls.
type series struct {
	name   string
	on     string // a server
	byHand bool   // without Once
	node   bool   // in TypeScript
	oneCPU bool   // with GOMAXPROCS=1
	uneven bool   // handlers take 1 to 50 ms

	group int // dynamo.Options.Group
	ahead int // Config.Ahead
	queue handlers.SQSOptions

	sent  atomic.Int64 // requests, or round trips
	stops []func()
}

var (
	onCalls = []*series{
		{name: "hand", on: onDynamoDB, byHand: true}, {name: "once", on: onDynamoDB},
		{name: "grouped", on: onDynamoDB, group: 1}, {name: "grouped4", on: onDynamoDB, group: 4},
		{name: "typescript", on: onDynamoDB, node: true, byHand: true}, {name: "powertools", on: onDynamoDB, node: true},
	}
	onStores = []*series{
		{name: "postgres-hand", on: onPostgreSQL, byHand: true}, {name: "postgres", on: onPostgreSQL},
		{name: "redis-hand", on: onRedis, byHand: true}, {name: "redis", on: onRedis}, {name: "memory", on: inMemory},
	}
	onDisk    = []*series{{name: "durable-hand", on: onDurable, byHand: true}, {name: "durable", on: onDurable}}
	onBatches = []*series{
		{name: "in-turn", on: onDynamoDB, ahead: -1},
		{name: "ahead", on: onDynamoDB},
		{name: "ahead-unrecorded", on: onDynamoDB, queue: handlers.SQSOptions{Unrecorded: 10}},
		{name: "ahead-grouped", on: onDynamoDB, queue: handlers.SQSOptions{Unrecorded: 10}, group: 1},
		{name: "in-turn-one", on: onDynamoDB, ahead: -1, oneCPU: true},
		{name: "ahead-grouped-one", on: onDynamoDB, queue: handlers.SQSOptions{Unrecorded: 10}, group: 1, oneCPU: true},
		{name: "ahead-grouped-uneven", on: onDynamoDB, queue: handlers.SQSOptions{Concurrency: 5, Unrecorded: 10}, group: 1, uneven: true},
	}
)

// once is Once on DynamoDB as a user has it.
var once = onCalls[1]

// at returns where the records of the series are, with an added latency.
func (s *series) at(latency time.Duration) (endpoint, table string) {
	return servers[s.on].endpoints[latency], servers[s.on].table
}

// store returns the store of a series, as a user makes it.
func (s *series) store(latency time.Duration) (driver.Store, error) {
	endpoint, table := s.at(latency)
	switch s.on {
	case inMemory:
		return memory.New(0), nil
	case onRedis:
		return onceredis.New(s.redis(endpoint), &onceredis.Options{Prefix: table + ":"})
	case onDynamoDB:
		return dynamo.New(s.dynamodb(endpoint), table, &dynamo.Options{Group: s.group})
	}
	pool, err := s.pool(endpoint)
	if err != nil {
		return nil, err
	}
	return postgres.New(pool, table, nil)
}

// caller returns the function that makes the calls of a series.
func (s *series) caller(latency time.Duration, config *idempotent.Config, run handler) (handler, error) {
	if s.byHand {
		return s.hand(latency, run)
	}
	store, err := s.store(latency)
	if err != nil {
		return nil, err
	}
	x, err := idempotent.New("create-payment", store, config)
	if err != nil {
		return nil, err
	}
	return idempotent.Wrap(x, paymentKey, run), nil
}

// Do implements dynamodb.HTTPClient with the SDK's own client, and counts requests.
func (s *series) Do(r *http.Request) (*http.Response, error) {
	s.sent.Add(1)
	return sdkClient.Do(r)
}

var sdkClient = awshttp.NewBuildableClient()

func (s *series) dynamodb(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint,
		Credentials: aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		})),
		// The SDK would log a warning for each failed condition.
		DisableValidateResponseChecksum: true,
		HTTPClient:                      s,
		Region:                          "us-east-1",
	})
}

// poolSize is more than all callers on PostgreSQL or Redis: none waits for a connection.
const poolSize = 32

// pool returns a pool that the end of the benchmark closes. The endpoint is a connection
// string.
func (s *series) pool(endpoint string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(endpoint)
	if err != nil {
		return nil, err
	}
	config.MaxConns = poolSize
	config.ConnConfig.DialFunc = s.dial
	// A connection that was idle for a second is asked before it is used, by chance here.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err == nil {
		s.stops = append(s.stops, pool.Close)
	}
	return pool, err
}

// redis returns a client that the end of the benchmark closes. The endpoint is a host and
// port.
func (s *series) redis(endpoint string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: endpoint, ContextTimeoutEnabled: true, Dialer: s.dial, PoolSize: poolSize})
	s.stops = append(s.stops, func() { _ = client.Close() }) // its connections end with the process
	return client
}

// close closes the connections that the benchmark has opened.
func (s *series) close() {
	for _, stop := range s.stops {
		stop()
	}
	s.stops = nil
}

// dial opens a connection whose round trips count.
func (s *series) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{TCPConn: conn.(*net.TCPConn), trips: &s.sent}, nil
}

// counted counts round trips: writes that follow an answer. It has all methods of a TCP
// connection, because go-redis looks at the socket of an idle one.
type counted struct {
	*net.TCPConn
	trips    *atomic.Int64
	answered atomic.Bool // the last call was a Read that had bytes
}

// Read implements net.Conn.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 {
		c.answered.Store(true)
	}
	return n, err
}

// Write implements net.Conn.
func (c *counted) Write(b []byte) (int, error) {
	if c.answered.Swap(false) {
		c.trips.Add(1)
	}
	return c.TCPConn.Write(b)
}
