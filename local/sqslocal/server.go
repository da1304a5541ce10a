package sqslocal

import (
	"cmp"
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
	// Any value works. DynamoDB Local uses the same.
	credential = "local"
)

// Options are the options of [Start]. A field with its zero value has its default.
type Options struct {
	// Timeout limits building and starting the server. The first build fetches and
	// compiles it. Default: three minutes.
	Timeout time.Duration
}

// A Server is a running queue server.
type Server struct {
	endpoint string
	client   *sqs.Client
	stop     func() error
}

// Start builds and starts a server, and returns when it responds. ctx limits only the
// start: the server runs until Stop or the exit of the process. If options is nil, all
// defaults apply.
func Start(ctx context.Context, o *Options) (*Server, error) {
	if o == nil {
		o = &Options{}
	}
	timeout := cmp.Or(o.Timeout, 3*time.Minute)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "once-sqs-")
	if err != nil {
		return nil, fmt.Errorf("sqslocal: %w", err)
	}
	s, err := start(ctx, dir, timeout)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func newServer(endpoint string, stop func() error) *Server {
	// The default transport has only two idle connections, but every poller needs
	// one.
	connections := &http.Transport{MaxIdleConnsPerHost: 64}
	return &Server{endpoint: endpoint, client: newClient(endpoint, connections, nil), stop: func() error {
		connections.CloseIdleConnections()
		return stop()
	}}
}

// Endpoint returns the URL of the server.
func (s *Server) Endpoint() string { return s.endpoint }

// Client returns a client of the server, with meaningless credentials.
func (s *Server) Client() *sqs.Client { return s.client }

// Env returns the environment variables with which the AWS SDK, in its default
// configuration, sends requests to the server.
func (s *Server) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL_SQS=" + s.endpoint,
		"AWS_REGION=" + region,
		"AWS_ACCESS_KEY_ID=" + credential,
		"AWS_SECRET_ACCESS_KEY=" + credential,
	}
}

// Stop stops the server, and waits until it has exited.
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
