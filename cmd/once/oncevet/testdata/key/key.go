// Package key has keys that a redelivery changes, and some that it does not.
package key

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
}

func requested(r events.APIGatewayProxyRequest) (idempotent.Key, error) {
	return idempotent.Key{ID: r.RequestContext.RequestID}, nil // want
}

func header(r events.APIGatewayProxyRequest) (idempotent.Key, error) {
	return idempotent.Key{ID: r.Headers["idempotency-key"]}, nil // near
}

func counted(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Body.ID + m.Source.Attributes["ApproximateReceiveCount"]}, nil // want
}

func message(m handlers.SQSMessage[order]) (idempotent.Key, error) {
	return idempotent.Key{ID: m.Source.MessageId, Issued: time.Now()}, nil // near
}

func now(o order) (idempotent.Key, error) {
	id := o.ID + time.Now().Format(time.RFC3339)
	return idempotent.Key{ID: id}, nil // want
}

func day(o order) (idempotent.Key, error) {
	return idempotent.Key{ID: o.ID + o.At.Format(time.DateOnly)}, nil // near
}

var (
	_ = idempotent.Field(func(order) string { return uuid.NewString() })        // want
	_ = idempotent.Field(func(o order) string { return o.RequestID })           // near
	_ = keypath.Path[events.APIGatewayProxyRequest]("requestContext.requestId") // want
	_ = keypath.Path[order]("requestId")                                        // near
	_ = idempotent.WholePayload[events.SQSMessage]()                            // want
	_ = idempotent.WholePayload[order]()                                        // near
)

func Handle(ctx context.Context, x *idempotent.Executor, o order) (string, error) {
	lc, _ := lambdacontext.FromContext(ctx)
	work := func(context.Context) (string, error) { return "", nil }
	if _, err := idempotent.Do(ctx, x, idempotent.Key{ID: lc.AwsRequestID}, work); err != nil { // want
		return "", err
	}
	return idempotent.Do(ctx, x, idempotent.Key{ID: lc.InvokedFunctionArn + o.ID}, work) // near
}

// The key stays the same while the program repeats its call.
func Repeat(x *idempotent.Executor, work func(context.Context) (string, error)) {
	id := uuid.NewString()
	for range 3 {
		_, _ = idempotent.Do(context.Background(), x, idempotent.Key{ID: id}, work) // near
	}
}

func Batch() func(order) (idempotent.Key, error) {
	run := uuid.NewString()
	return func(o order) (idempotent.Key, error) {
		return idempotent.Key{ID: run + o.ID}, nil // near
	}
}
