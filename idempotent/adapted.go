package idempotent

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// Package adapter reaches the parts that users do not see through these functions.
func init() {
	options.ForAdapters = func(x any) options.Executor { return adapted{x.(*Executor)} }
	options.Share = func(config any) { config.(*Config).shared = true }
}

// adapted has the methods of an Executor for package adapter, which documents them.
type adapted struct{ *Executor }

func (x adapted) HandlerDeadline(ctx context.Context) (deadline time.Time, ok bool) {
	if x.disabled {
		return ctx.Deadline()
	}
	b := bounds.Bounds{Reserve: x.config.Reserve, Invocation: x.invocationEnd(ctx, frameOf(ctx))}
	return b.HandlerDeadline(ctx)
}

func (x adapted) ClaimsAhead() bool {
	return x.config.MaxAttempts == 0 && !x.config.Optimistic && !x.disabled
}

func (x adapted) Ahead() int {
	if !x.ClaimsAhead() {
		return 0
	}
	return max(x.config.Ahead, 0)
}

func (x adapted) Disabled() bool { return x.disabled }

func (x adapted) Margin() time.Duration { return x.config.Margin }

func (x adapted) RefusesLate() bool { return x.config.RefuseLate && !x.disabled }

func (x adapted) Seals() bool { return x.config.Sealer != nil }
