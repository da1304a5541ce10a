package dynamodblocal

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	endpointVar = "AWS_ENDPOINT_URL_DYNAMODB"
	region      = "us-east-1"
	// DynamoDB Local takes letters and digits only.
	credential = "local"
)

// Options for [Start]. The zero value of each field is its default.
type Options struct {
	// CacheDir is where the fetched program is kept. Default: once/dynamodb-local
	// in os.UserCacheDir.
	CacheDir string
	// Log receives a line for each long step. Default: nothing is logged.
	Log io.Writer
	// Timeout for the start of the server, fetching not included. Default:
	// one minute.
	Timeout time.Duration
}

func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.CacheDir == "" {
		dir, err := defaultCacheDir()
		if err != nil {
			return c, err
		}
		c.CacheDir = dir
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	return c, nil
}

// Server is a running DynamoDB Local.
type Server struct {
	endpoint string
	client   *dynamodb.Client
	stop     func() error
}

// Start finds a server or starts one, and returns when it answers. ctx bounds
// the start only; the server runs until Stop or the end of the process. nil
// options are the defaults.
func Start(ctx context.Context, o *Options) (*Server, error) {
	if endpoint := os.Getenv(endpointVar); endpoint != "" {
		err := answers(ctx, endpoint)
		if err == nil {
			return newServer(endpoint, func() error { return nil }), nil
		}
		if o != nil && o.Log != nil {
			if _, err := fmt.Fprintf(o.Log, "%s=%s does not answer (%v): starting another\n", endpointVar, endpoint, err); err != nil {
				return nil, fmt.Errorf("dynamodblocal: log: %w", err)
			}
		}
	}
	c, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return launch(ctx, c)
}

func newServer(endpoint string, stop func() error) *Server {
	// A transport of its own: many tests at once would otherwise open and
	// close connections beyond the default's two idle ones.
	connections := &http.Transport{MaxIdleConnsPerHost: 64}
	return &Server{endpoint: endpoint, client: newClient(endpoint, connections, nil), stop: func() error {
		connections.CloseIdleConnections()
		return stop()
	}}
}

// Endpoint is the server's URL.
func (s *Server) Endpoint() string { return s.endpoint }

// Client is a client of the server, with credentials that mean nothing.
func (s *Server) Client() *dynamodb.Client { return s.client }

// Env is what a child process needs in its environment so that the AWS SDK,
// in its default configuration, talks to the server.
func (s *Server) Env() []string {
	return []string{
		endpointVar + "=" + s.endpoint,
		"AWS_REGION=" + region,
		"AWS_ACCESS_KEY_ID=" + credential,
		"AWS_SECRET_ACCESS_KEY=" + credential,
	}
}

// Stop ends the server and waits until it has. It does nothing to a server
// that was found running.
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

// answers makes one call that every DynamoDB understands.
func answers(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := newClient(endpoint, &http.Transport{DisableKeepAlives: true}, aws.NopRetryer{})
	_, err := client.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
	return err
}
