package sqslocal

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/internal/supervise"
)

const (
	region  = "us-east-1"
	account = "123456789012"
	// Any value works. DynamoDB Local uses the same.
	credential = "local"
)

// Options are the options of [Start]. The default of Timeout, which includes building, is
// three minutes: the first build fetches and compiles the server.
type Options = serving.Options

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
	var c Options
	if o != nil {
		c = *o
	}
	c.Timeout = cmp.Or(c.Timeout, 3*time.Minute)
	endpoint, stop, err := kind().Start(ctx, &c)
	if err != nil {
		return nil, err
	}
	// The default transport has only two idle connections, but every poller needs
	// one.
	connections := &http.Transport{MaxIdleConnsPerHost: 64}
	return &Server{endpoint: endpoint, client: newClient(endpoint, connections, nil), stop: func() error {
		connections.CloseIdleConnections()
		return stop()
	}}, nil
}

const (
	module = "github.com/lambda-once/once/local/sqslocal"
	tool   = "github.com/Admiral-Piett/goaws/app/cmd"
)

// kind returns the kind of one server. Only that server knows its queue, and not an
// older one on the same port.
func kind() serving.Kind {
	queue := "started-" + rand.Text()
	return serving.Kind{
		Package: "sqslocal", Name: "sqs", URL: "http://%s",
		Answers: func(ctx context.Context, endpoint string) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			client := newClient(endpoint, &http.Transport{DisableKeepAlives: true}, aws.NopRetryer{})
			_, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &queue})
			return err
		},
		Find: func(context.Context, serving.Options) (serving.Program, error) {
			return serving.Program{Prepare: build, Command: func(dir, port string) (supervise.Command, error) {
				config := filepath.Join(dir, "goaws.yaml")
				err := os.WriteFile(config, fmt.Appendf(nil, configuration, port, region, account, queue), 0o600)
				return supervise.Command{Path: filepath.Join(dir, "goaws"), Args: []string{"-config", config, "-loglevel", "error"}}, err
			}}, nil
		},
	}
}

const configuration = `Local:
  Host: 127.0.0.1
  Port: "%s"
  Region: %s
  AccountId: "%s"
  Queues:
    - Name: %s
`

// build builds the server in this module, whose go.mod pins the versions, and not in the
// module of the test.
func build(ctx context.Context, dir string) error {
	command := func(args ...string) supervise.Command {
		return supervise.Command{Path: "go", Args: args, Env: os.Environ()}
	}
	source, err := supervise.Run(ctx, command("list", "-m", "-f", "{{.Dir}}", module))
	if err == nil {
		source = strings.TrimSpace(source)
		source = source[strings.LastIndex(source, "\n")+1:] // after reports of downloads
		_, err = supervise.Run(ctx, command("-C", source, "build", "-o", filepath.Join(dir, "goaws"), tool))
	}
	return err
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
		APIOptions:   []func(*middleware.Stack) error{countReceives()},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: credential, SecretAccessKey: credential}, nil
		}),
	})
}

// countReceives returns a setting of a client that counts its receives of each message
// in ApproximateReceiveCount, which the server always says is 1.
func countReceives() func(*middleware.Stack) error {
	var mu sync.Mutex
	counts := map[[2]string]int{} // by queue and message
	count := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		if received, ok := out.Result.(*sqs.ReceiveMessageOutput); ok {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range received.Messages {
				k := [2]string{aws.ToString(in.Parameters.(*sqs.ReceiveMessageInput).QueueUrl), aws.ToString(m.MessageId)}
				counts[k]++
				if m.Attributes != nil { // it was asked for
					m.Attributes["ApproximateReceiveCount"] = strconv.Itoa(counts[k])
				}
			}
		}
		return out, metadata, err
	}
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("CountReceives", count), middleware.After)
	}
}
