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
)

// connections are those of a worker. They outlive its jobs, and count requests
// where these leave the process. They are the ones of the SDK's own HTTP client, as
// a user has them who loads the default configuration: it keeps ten idle ones.
type connections struct {
	client dynamodb.HTTPClient
	sent   atomic.Int64
}

func newConnections() *connections {
	return &connections{client: awshttp.NewBuildableClient()}
}

// Do implements dynamodb.HTTPClient.
func (c *connections) Do(r *http.Request) (*http.Response, error) {
	c.sent.Add(1)
	return c.client.Do(r)
}

// open opens n connections, or finds them open. A function that runs often has them,
// and DynamoDB Local closes those that were idle since the last round.
func (c *connections) open(ctx context.Context, j Job, n int) error {
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
