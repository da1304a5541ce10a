// Command worker is the function of the tests. As its event says, it waits in the middle
// of its work, has one countable effect and finishes, or it writes one line in a step.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/emf"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var c idempotent.Config
	var o handlers.SQSOptions
	var stored dynamo.Options
	endpoint := flag.String("endpoint", "", "of DynamoDB")
	records := flag.String("records", "", "the table of records")
	effects := flag.String("effects", "", "the table of effects")
	trigger := flag.String("trigger", "call", "call, http or batch")
	cut := flag.Duration("cut", 0, "how long before its end an invocation seems to end")
	flag.DurationVar(&c.Lease, "lease", 0, "of idempotent.Config")
	flag.DurationVar(&c.ClockSkew, "skew", 0, "of idempotent.Config")
	flag.DurationVar(&c.Reserve, "reserve", 0, "of idempotent.Config")
	flag.IntVar(&stored.Group, "group", 0, "of dynamo.Options")
	flag.IntVar(&c.Ahead, "ahead", 0, "of idempotent.Config")
	flag.IntVar(&o.Unrecorded, "unrecorded", 0, "of handlers.SQSOptions")
	flag.Parse()

	client := dynamodb.New(dynamodb.Options{BaseEndpoint: endpoint, Region: "us-east-1", Credentials: aws.CredentialsProviderFunc(local)})
	w := worker{client: client, effects: *effects}
	store, err := dynamo.New(w.client, *records, &stored)
	if err != nil {
		return err
	}
	metrics, err := emf.New(nil)
	if err != nil {
		return err
	}
	// It logs and counts as the documentation recommends.
	c.Observer = idempotent.Observers{idempotent.LogObserver{Level: slog.LevelWarn}, metrics}
	x, err := idempotent.New("work", store, &c)
	if err != nil {
		return err
	}
	switch key := func(e Event) (idempotent.Key, error) { return idempotent.Key{ID: e.Key}, nil }; *trigger {
	case "call":
		lambda.Start(early(*cut, idempotent.Wrap(x, key, w.work)))
	case "http":
		lambda.Start(early(*cut, httpapi.FunctionURL(x, httpapi.NoIdentity(), w.serve, nil)))
	case "batch":
		key := func(m handlers.SQSMessage[Event]) (idempotent.Key, error) { return key(m.Body) }
		fn := func(ctx context.Context, m handlers.SQSMessage[Event]) error {
			_, err := w.work(ctx, m.Body)
			return err
		}
		lambda.Start(early(*cut, handlers.SQS(x, key, fn, &o)))
	}
	return fmt.Errorf("unknown trigger %q", *trigger)
}

// local returns the credentials of DynamoDB Local, which accepts all.
func local(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
}

// early calls fn as if the invocation ended cut before it does. The tests need
// not be as quick as the function then.
func early[In, Out any](cut time.Duration, fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		deadline, _ := ctx.Deadline()
		ctx, cancel := context.WithDeadline(ctx, deadline.Add(-cut))
		defer cancel()
		return fn(ctx, in)
	}
}

func (w worker) serve(ctx context.Context, e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	if _, err := w.work(ctx, Event{Key: e.Body}); err != nil {
		return events.LambdaFunctionURLResponse{}, err
	}
	return events.LambdaFunctionURLResponse{StatusCode: 201}, nil
}
