package work

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/memory"
)

// connections are those of a worker. They outlive its jobs, end with the process, and
// count requests where these leave it.
type connections struct {
	// client is the SDK's own HTTP client, as a user has it who loads the default
	// configuration: it keeps ten idle connections.
	client dynamodb.HTTPClient
	sent   atomic.Int64 // requests, or round trips

	pools    map[string]*pgxpool.Pool // by endpoint
	clients  map[string]*redis.Client // by endpoint
	prepared map[string]int           // connections, by endpoint and table

	records      *memory.Store
	recordsTable string
}

func newConnections() *connections {
	return &connections{
		client: awshttp.NewBuildableClient(),
		pools:  map[string]*pgxpool.Pool{}, clients: map[string]*redis.Client{}, prepared: map[string]int{},
	}
}

// open opens n connections, or finds them open: a function that runs often has them.
// Prepared statements and scripts are known to the server from then on.
func (s Series) open(ctx context.Context, c *connections, j Job, n int) error {
	known := j.Endpoint + " " + j.Table
	if s.On != DynamoDB && c.prepared[known] >= n {
		return nil
	}
	c.prepared[known] = n
	switch s.On {
	case DynamoDB:
		return c.openDynamoDB(ctx, j, n)
	case PostgreSQL:
		return s.openPostgreSQL(ctx, c, j, n)
	case Redis:
		return s.openRedis(ctx, c, j, n)
	}
	return nil
}

// warm makes a first call with a key of its own, whose handler returns at once.
func (s Series) warm(ctx context.Context, c *connections, j Job, id string) error {
	ctx, cancel := invocation(ctx)
	defer cancel()
	call, err := s.caller(ctx, c, j, &handler{charge: shortCharge})
	if err != nil {
		return err
	}
	_, err = call(ctx, payment{ID: id, Customer: "cus_4711"})
	return err
}

// Do implements dynamodb.HTTPClient.
func (c *connections) Do(r *http.Request) (*http.Response, error) {
	c.sent.Add(1)
	return c.client.Do(r)
}

// openDynamoDB asks for each job: DynamoDB Local closes connections that were idle
// since the last round.
func (c *connections) openDynamoDB(ctx context.Context, j Job, n int) error {
	client, errs := c.dynamodb(j.Endpoint), make([]error, n)
	var opening sync.WaitGroup
	for i := range n {
		opening.Go(func() { _, errs[i] = client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &j.Table}) })
	}
	opening.Wait()
	return errors.Join(errs...)
}

// dynamodb returns the client that every series of Go has.
func (c *connections) dynamodb(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint,
		Credentials: aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		})),
		// The SDK would log a warning for each failed condition.
		DisableValidateResponseChecksum: true,
		HTTPClient:                      c,
		Region:                          "us-east-1",
	})
}
