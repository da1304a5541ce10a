// Package executor has executors that each invocation makes, and one that is made once.
package executor

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
)

var store = memory.New(0)

func work(context.Context) (string, error) { return "", nil }

func handle(ctx context.Context, e events.SQSMessage) (string, error) {
	x, err := idempotent.New("work", store, nil) // want
	if err != nil {
		return "", err
	}
	return idempotent.Do(ctx, x, idempotent.Key{ID: e.MessageId}, work)
}

func SetUp() {
	x, err := idempotent.New("work", store, nil) // near
	if err != nil {
		panic(err)
	}
	lambda.Start(idempotent.Wrap(x, idempotent.Field(func(s string) string { return s }), func(ctx context.Context, s string) (string, error) {
		return inner(ctx, s)
	}))
	lambda.StartWithOptions(handle)
}

func inner(ctx context.Context, s string) (string, error) {
	y, err := idempotent.New("inner", store, nil) // want
	if err != nil {
		return "", err
	}
	return idempotent.Do(ctx, y, idempotent.Key{ID: s}, work)
}

// make returns a handler, and makes its executor before that.
func Make() func(context.Context, string) (string, error) {
	x, err := idempotent.New("made", store, nil) // near
	return func(ctx context.Context, s string) (string, error) {
		if err != nil {
			return "", err
		}
		return idempotent.Do(ctx, x, idempotent.Key{ID: s}, work)
	}
}
