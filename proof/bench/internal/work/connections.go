package work

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// connect opens n connections, or finds them open: a function that runs often has them.
// Prepared statements and scripts are known to the server from then on.
func (w *Worker) connect(j Job, n int) error {
	switch {
	case w.On == DynamoDB:
		return w.connectDynamoDB(j, n)
	case w.On == Process || w.open[j.Endpoint] >= n:
		return nil
	}
	w.open[j.Endpoint] = n
	if w.On.isPostgreSQL() {
		return w.connectPostgreSQL(j, n)
	}
	return w.connectRedis(j, n)
}

// connectDynamoDB sends requests for each job: DynamoDB Local closes connections that were
// idle since the last round.
func (w *Worker) connectDynamoDB(j Job, n int) error {
	client := w.dynamodb(j.Endpoint)
	var connecting errgroup.Group
	for range n {
		connecting.Go(func() error {
			_, err := client.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: &j.Table})
			return err
		})
	}
	return connecting.Wait()
}

// connectPostgreSQL makes calls on each connection, which prepare the statements. After an
// error, the worker is of no use, and keeps its connections.
func (w *Worker) connectPostgreSQL(j Job, n int) (err error) {
	pool, err := w.pool(j.Endpoint)
	if err != nil {
		return err
	}
	all := make([]*pgxpool.Conn, n)
	for i := range all {
		if all[i], err = pool.Acquire(context.Background()); err != nil {
			return err
		}
	}
	for i := range all {
		all[i].Release() // the only one that is free, so the calls use it
		if err := w.warm(j); err != nil {
			return err
		}
		if all[i], err = pool.Acquire(context.Background()); err != nil {
			return err
		}
	}
	for _, one := range all {
		one.Release()
	}
	return nil
}

// connectRedis opens the connections, and makes a call that sends the scripts.
func (w *Worker) connectRedis(j Job, n int) (err error) {
	for range n {
		one := w.redis(j.Endpoint).Conn()
		defer func() { err = errors.Join(err, one.Close()) }() // returns it to the pool
		if err := one.Ping(context.Background()).Err(); err != nil {
			return err
		}
	}
	return w.warm(j)
}

// warm makes a call with a key of its own, whose handler returns at once, and its duplicate,
// which may have a statement of its own.
func (w *Worker) warm(j Job) error {
	x, err := w.executor(j)
	if err != nil {
		return err
	}
	call := w.caller(x, j, &handler{charge: shortCharge})
	p := payment{ID: rand.Text(), Customer: "cus_4711"}
	_, first := invoke(call, p)
	_, again := invoke(call, p)
	return errors.Join(first, again)
}

// Do implements dynamodb.HTTPClient.
func (w *Worker) Do(r *http.Request) (*http.Response, error) {
	w.sent.Add(1)
	return w.http.Do(r)
}

// dynamodb returns the client that every series of Go has.
func (w *Worker) dynamodb(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint,
		Credentials: aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		})),
		// The SDK would log a warning for each failed condition.
		DisableValidateResponseChecksum: true,
		HTTPClient:                      w,
		Region:                          "us-east-1",
	})
}

// poolSize is more than all callers of a job: none waits for a connection.
const poolSize = 32

// pool returns the pool of an endpoint, which is a connection string.
func (w *Worker) pool(endpoint string) (*pgxpool.Pool, error) {
	if p := w.pools[endpoint]; p != nil {
		return p, nil
	}
	config, err := pgxpool.ParseConfig(endpoint)
	if err != nil {
		return nil, err
	}
	config.MaxConns = poolSize
	config.ConnConfig.DialFunc = w.dial
	// A connection that was idle for a second is asked before it is used. Whether one
	// was is chance here, and would be counted.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	w.pools[endpoint], err = pgxpool.NewWithConfig(context.Background(), config)
	return w.pools[endpoint], err
}

// redis returns the client of an endpoint, which is a host and port.
func (w *Worker) redis(endpoint string) *redis.Client {
	if w.clients[endpoint] == nil {
		w.clients[endpoint] = redis.NewClient(&redis.Options{
			Addr: endpoint, ContextTimeoutEnabled: true, Dialer: w.dial, PoolSize: poolSize,
		})
	}
	return w.clients[endpoint]
}

// dial opens a connection whose round trips count.
func (w *Worker) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{TCPConn: conn.(*net.TCPConn), trips: &w.sent}, nil
}

// counted counts round trips: writes that follow an answer. It has all methods of a
// TCP connection, because go-redis looks at the socket of an idle one.
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
