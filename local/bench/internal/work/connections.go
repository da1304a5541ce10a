package work

import (
	"context"
	"net/http"
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
