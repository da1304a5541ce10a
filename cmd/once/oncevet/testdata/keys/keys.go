// Package keys has keys that are not those of the request, and some that are.
package keys

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/uuid"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
)

type order struct {
	ID        string
	RequestID string // the client's own
	At        time.Time
	Lines     []order
}

func requested(r events.APIGatewayProxyRequest) (idempotent.Key, error) {
	return idempotent.Key{ID: r.RequestContext.RequestID}, nil // want key
}

func header(r events.APIGatewayProxyRequest) (idempotent.Key, error) {
	return idempotent.Key{ID: r.Headers["idempotency-key"]}, nil // near key
}

func counted(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.ID + m.Source.Attributes["ApproximateReceiveCount"]}, nil // want key
}

func message(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Source.MessageId, Issued: time.Now()}, nil // near key
}

func now(o order) (idempotent.Key, error) {
	id := o.ID + time.Now().Format(time.RFC3339)
	return idempotent.Key{ID: id}, nil // want key
}

func day(o order) (idempotent.Key, error) {
	return idempotent.Key{ID: o.ID + o.At.Format(time.DateOnly)}, nil // near key
}

var (
	_ = idempotent.Field(func(order) string { return uuid.NewString() })        // want key
	_ = idempotent.Field(func(o order) string { return o.RequestID })           // near key
	_ = keypath.Path[events.APIGatewayProxyRequest]("requestContext.requestId") // want key
	_ = keypath.Path[order]("requestId")                                        // near key
	_ = idempotent.WholePayload[events.SQSMessage]()                            // want key
	_ = idempotent.WholePayload[order]()                                        // near key
)

func Handle(ctx context.Context, x *idempotent.Executor, o order) (string, error) {
	lc, _ := lambdacontext.FromContext(ctx)
	if _, err := idempotent.Do(ctx, x, idempotent.Key{ID: lc.AwsRequestID}, work); err != nil { // want key
		return "", err
	}
	return idempotent.Do(ctx, x, idempotent.Key{ID: lc.InvokedFunctionArn + o.ID}, work) // near key
}

// The key stays the same while the program repeats its call.
func Repeat(x *idempotent.Executor, work func(context.Context) (string, error)) {
	id := uuid.NewString()
	for range 3 {
		_, _ = idempotent.Do(context.Background(), x, idempotent.Key{ID: id}, work) // near key
	}
}

func Batch() func(order) (idempotent.Key, error) {
	run := uuid.NewString()
	return func(o order) (idempotent.Key, error) {
		return idempotent.Key{ID: run + o.ID}, nil // near key
	}
}

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID, Payload: o}, nil }

func work(context.Context) (string, error) { return "", nil }

func Handlers(x, other *idempotent.Executor) []any {
	return []any{
		idempotent.Wrap(x, idempotent.Field(func(o order) string { return o.ID }), func(ctx context.Context, o order) (string, error) {
			return idempotent.Do(ctx, x, idempotent.Key{ID: o.ID}, work) // want nestedkey
		}),
		idempotent.Wrap(x, key, func(ctx context.Context, o order) (string, error) {
			for _, line := range o.Lines {
				if _, err := idempotent.Do(ctx, x, idempotent.Key{ID: line.ID}, work); err != nil { // near nestedkey
					return "", err
				}
			}
			return idempotent.Do(ctx, other, idempotent.Key{ID: o.ID}, work) // near nestedkey
		}),
		handlers.SQS(x, func(m handlers.SQSMessage[order]) (idempotent.Key, error) { return key(m.Body) }, func(ctx context.Context, m handlers.SQSMessage[order]) error {
			_, err := idempotent.Do(ctx, x, idempotent.Key{Scope: "lines", ID: m.Body.ID}, work) // near nestedkey
			return err
		}, nil),
		idempotent.Wrap(x, key, func(ctx context.Context, o order) (string, error) {
			k, err := key(o)
			if err != nil {
				return "", err
			}
			return idempotent.Do(ctx, x, k, work) // want nestedkey
		}),
	}
}

func Nested(ctx context.Context, x *idempotent.Executor, o order) (string, error) {
	k := idempotent.Key{ID: o.ID}
	return idempotent.Do(ctx, x, k, func(ctx context.Context) (string, error) {
		if _, err := idempotent.Do(ctx, x, idempotent.Key{ID: o.ID + "/lines"}, work); err != nil { // near nestedkey
			return "", err
		}
		return idempotent.Do(ctx, x, k, work) // want nestedkey
	})
}
