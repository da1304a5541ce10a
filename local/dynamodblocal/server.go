package dynamodblocal

import (
	"context"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/local/serving"
)

const (
	endpointVar = "AWS_ENDPOINT_URL_DYNAMODB"
	region      = "us-east-1"
	// DynamoDB Local accepts only letters and digits.
	credential = "local"
)

// Options are the options of [Start]. A field with its zero value has its default.
type Options struct {
	// CacheDir is the directory of the fetched program. Default:
	// once/dynamodb-local in os.UserCacheDir.
	CacheDir string
	// Log receives a line for each long step. Default: nothing is logged.
	Log io.Writer
	// Timeout limits the start of the server without fetching. Default: one
	// minute.
	Timeout time.Duration
}

func (o *Options) withDefaults() (serving.Launch, error) {
	if o == nil {
		o = &Options{}
	}
	return serving.Launch{
		Package: "dynamodblocal", CacheDir: o.CacheDir, Log: o.Log, Timeout: o.Timeout,
		Answers: func(ctx context.Context, addr string) error { return answers(ctx, "http://"+addr) },
	}.WithDefaults("dynamodb-local")
}

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
	// A server that is running needs no cache.
	l, noCache := o.withDefaults()
	if endpoint := os.Getenv(endpointVar); endpoint != "" {
		err := answers(ctx, endpoint)
		if err == nil {
			return newServer(endpoint, func() error { return nil }), nil
		}
		if err := l.Logf("%s=%s does not respond (%v): starting a server", endpointVar, endpoint, err); err != nil {
			return nil, err
		}
	}
	if noCache != nil {
		return nil, noCache
	}
	return launch(ctx, l)
}

func newServer(endpoint string, stop func() error) *Server {
	// The default transport has two idle connections. Concurrent tests would open
	// and close more all the time.
	connections := &http.Transport{MaxIdleConnsPerHost: 64}
	return &Server{endpoint: endpoint, client: newClient(endpoint, connections, nil), stop: func() error {
		connections.CloseIdleConnections()
		return stop()
	}}
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
