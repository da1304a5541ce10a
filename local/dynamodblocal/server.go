package dynamodblocal

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/internal/serving"
)

const (
	endpointVar = "AWS_ENDPOINT_URL_DYNAMODB"
	region      = "us-east-1"
	// DynamoDB Local accepts only letters and digits.
	credential = "local"
)

// Options are the options of [Start]. The default of CacheDir is once/dynamodb-local in
// os.UserCacheDir.
type Options = serving.Options

// A Server is a running DynamoDB Local.
type Server struct {
	endpoint string
	client   *dynamodb.Client
	stop     func() error
}

// Start finds or starts a server, and returns when it responds. ctx limits only the
// start: the server runs until Stop or the exit of the process. If options is nil, all
// defaults apply.
func Start(ctx context.Context, o *Options) (*Server, error) {
	endpoint, stop, err := kind.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	// The default transport has two idle connections. Concurrent tests would open
	// and close more all the time.
	connections := &http.Transport{MaxIdleConnsPerHost: 64}
	return &Server{endpoint: endpoint, client: newClient(endpoint, connections, nil), stop: func() error {
		connections.CloseIdleConnections()
		return stop()
	}}, nil
}

// Endpoint returns the URL of the server.
func (s *Server) Endpoint() string { return s.endpoint }

// Client returns a client of the server, with meaningless credentials.
func (s *Server) Client() *dynamodb.Client { return s.client }

// Env returns the environment variables with which the AWS SDK, in its default
// configuration, sends requests to the server.
func (s *Server) Env() []string {
	return []string{
		endpointVar + "=" + s.endpoint,
		"AWS_REGION=" + region,
		"AWS_ACCESS_KEY_ID=" + credential,
		"AWS_SECRET_ACCESS_KEY=" + credential,
	}
}

// Stop stops the server, and waits until it has exited. It does nothing to a server that
// was found running.
func (s *Server) Stop() error { return s.stop() }

// Exec implements the command dynamodblocal. It runs args with a server in their
// environment, and returns the exit code. It drops a leading "--", and forwards
// signals. Without args, it prints the endpoint and waits for a signal.
func Exec(args []string) (code int, err error) {
	return serving.Exec(args, Start, (*Server).Endpoint)
}

func newClient(endpoint string, connections *http.Transport, retryer aws.Retryer) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       region,
		Retryer:      retryer,
		HTTPClient:   &http.Client{Transport: connections},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: credential, SecretAccessKey: credential}, nil
		}),
	})
}

// answers makes one call that every DynamoDB supports.
func answers(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := newClient(endpoint, &http.Transport{DisableKeepAlives: true}, aws.NopRetryer{})
	_, err := client.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
	return err
}
