// Command silent is the function of the tests of a DynamoDB that does not answer.
// The variable TRIGGER chooses its handler. Each key has one effect, a line of
// output, in a step.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/emf"
	"github.com/lambda-once/once/proof/internal/function"
)

// An Order is one request.
type Order struct {
	ID string `json:"id"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	cut, cutErr := time.ParseDuration(os.Getenv("CUT"))
	ahead, aheadErr := strconv.Atoi(os.Getenv("AHEAD"))
	unrecorded, unrecordedErr := strconv.Atoi(os.Getenv("UNRECORDED"))
	x, err := executor()
	if err := errors.Join(cutErr, aheadErr, unrecordedErr, err); err != nil {
		return err
	}
	switch trigger := os.Getenv("TRIGGER"); trigger {
	case "call":
		key := func(o Order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }
		lambda.Start(early(cut, idempotent.Wrap(x, key, place)))
	case "http":
		lambda.Start(early(cut, httpapi.FunctionURL(x, httpapi.NoIdentity(), serve, nil)))
	case "batch":
		key := func(m handlers.SQSMessage[Order]) (idempotent.Key, error) { return idempotent.Key{ID: m.Body.ID}, nil }
		fn := func(ctx context.Context, m handlers.SQSMessage[Order]) error {
			_, err := place(ctx, m.Body)
			return err
		}
		lambda.Start(early(cut, handlers.SQS(x, key, fn, &handlers.SQSOptions{Ahead: ahead, Unrecorded: unrecorded})))
	default:
		return fmt.Errorf("unknown trigger %q", trigger)
	}
	return nil
}

// executor logs and counts as the documentation recommends.
func executor() (*idempotent.Executor, error) {
	store, err := dynamo.New(function.Client(), os.Getenv("RECORDS_TABLE"), nil)
	if err != nil {
		return nil, err
	}
	metrics, err := emf.New(nil)
	if err != nil {
		return nil, err
	}
	config := &idempotent.Config{Observer: idempotent.Observers{idempotent.LogObserver{Level: slog.LevelWarn}, metrics}}
	if err := function.Duration(&config.Reserve, "RESERVE"); err != nil {
		return nil, err
	}
	return idempotent.New("place-order", store, config)
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

func place(ctx context.Context, o Order) (Order, error) {
	return idempotent.Step(ctx, "place", func(context.Context) (Order, error) {
		fmt.Println("placed", o.ID)
		return o, nil
	})
}

func serve(ctx context.Context, e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	if _, err := place(ctx, Order{ID: e.Body}); err != nil {
		return events.LambdaFunctionURLResponse{}, err
	}
	return events.LambdaFunctionURLResponse{StatusCode: http.StatusCreated}, nil
}
