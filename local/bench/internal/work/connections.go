package work

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// connections are those of a worker. They outlive its jobs, and count requests
// where these leave the process.
type connections struct {
	transport http.RoundTripper
	sent      atomic.Int64
}

func newConnections() *connections {
	// The default keeps two of them for each host. More callers would open new ones
	// all the time, in every series.
	return &connections{transport: &http.Transport{MaxIdleConnsPerHost: 128}}
}

// RoundTrip implements http.RoundTripper.
func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent.Add(1)
	return c.transport.RoundTrip(r)
}

// open opens n connections, or finds them open. A function that runs often has them,
// and DynamoDB Local closes those that were idle since the last round.
func (c *connections) open(ctx context.Context, j Job, n int) error {
	client, errs := c.client(j.Endpoint), make([]error, n)
	var opening sync.WaitGroup
	for i := range n {
		opening.Go(func() { _, errs[i] = client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &j.Table}) })
	}
	opening.Wait()
	return errors.Join(errs...)
}

// client returns the client that every series of Go has.
func (c *connections) client(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint,
		Credentials: aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		})),
		// The SDK would log a warning for each failed condition.
		DisableValidateResponseChecksum: true,
		HTTPClient:                      &http.Client{Transport: c},
		Region:                          "us-east-1",
	})
}
