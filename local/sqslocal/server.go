package sqslocal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

const (
	region  = "us-east-1"
	account = "123456789012"
	// Any will do. This is the one that DynamoDB Local is given.
	credential = "local"
)

// Options for [Start]. The zero value of each field is its default.
type Options struct {
	// Timeout for building and starting the server; the first build fetches
	// and compiles it. Default: three minutes.
	Timeout time.Duration
}

// Server is a running queue server.
type Server struct {
	endpoint string
	client   *sqs.Client
	stop     func() error
}

// Start builds and starts a server, and returns when it answers. ctx bounds
// the start only; the server runs until Stop or the end of the process. nil
// options are the defaults.
func Start(ctx context.Context, o *Options) (*Server, error) {
	timeout := 3 * time.Minute
	if o != nil && o.Timeout != 0 {
		timeout = o.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "once-sqs-")
	if err != nil {
		return nil, fmt.Errorf("sqslocal: %w", err)
	}
	s, err := start(ctx, dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqslocal: %w", err), os.RemoveAll(dir))
	}
	return s, nil
}

func newServer(endpoint string, stop func() error) *Server {
	// A transport of its own: the default's keeps two idle connections, and
	// every poller has one.
	connections := &http.Transport{MaxIdleConnsPerHost: 64}
	return &Server{endpoint: endpoint, client: newClient(endpoint, connections, nil), stop: func() error {
		connections.CloseIdleConnections()
		return stop()
	}}
}

// Endpoint is the server's URL.
func (s *Server) Endpoint() string { return s.endpoint }

// Client is a client of the server, with credentials that mean nothing.
func (s *Server) Client() *sqs.Client { return s.client }

// Env is what a child process needs in its environment so that the AWS SDK,
// in its default configuration, sends to the server.
func (s *Server) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL_SQS=" + s.endpoint,
		"AWS_REGION=" + region,
		"AWS_ACCESS_KEY_ID=" + credential,
		"AWS_SECRET_ACCESS_KEY=" + credential,
	}
}

// Stop ends the server and waits until it has.
func (s *Server) Stop() error { return s.stop() }

func newClient(endpoint string, connections *http.Transport, retryer aws.Retryer) *sqs.Client {
	return sqs.New(sqs.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       region,
		Retryer:      retryer,
		HTTPClient:   &http.Client{Transport: connections},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: credential, SecretAccessKey: credential}, nil
		}),
	})
}
