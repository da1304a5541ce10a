// Package durable has the operations of a durable execution that the seeds call.
package durable

import (
	"context"
	"time"
)

type Context interface{ context.Context }

func Step[T any](ctx Context, name string, fn func(context.Context) (T, error)) (T, error) {
	return fn(ctx)
}

func Wait(Context, string, time.Duration) error { return nil }
