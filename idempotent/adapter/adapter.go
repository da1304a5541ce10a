// Package adapter serves authors of adapters: code that turns the events of a
// trigger into calls of package idempotent, as package handlers does.
package adapter

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// CheckExecutions returns a [*driver.ConfigError] if the timeout is not one that a
// durable execution can have, or if a setting of x does not fit its calls. Adapters
// call it when the function starts. See [Durable].
func CheckExecutions(x *idempotent.Executor, timeout time.Duration) error {
	return options.ForAdapters(x).CheckExecutions(timeout)
}

// Ahead returns how many records may be claimed before their turn: Config.Ahead, or 0
// where each record is claimed in its turn.
func Ahead(x *idempotent.Executor) int { return options.ForAdapters(x).Ahead() }

// ClaimsAhead reports whether a record may be claimed before its handler's turn.
// It is false with Config.MaxAttempts, as a crash would use up an attempt of
// records that never ran. It is false where there is no claim: with
// Config.Optimistic, and with ONCE_DISABLED.
func ClaimsAhead(x *idempotent.Executor) bool { return options.ForAdapters(x).ClaimsAhead() }

// Disabled reports whether ONCE_DISABLED was set when x was made.
func Disabled(x *idempotent.Executor) bool { return options.ForAdapters(x).Disabled() }

// HandlerDeadline returns the time at which the context of a handler ends that a
// call with ctx would run, and reports whether there is one. Adapters use it to
// decide whether there is time to start a handler.
//
// In a Lambda function it is Config.Reserve before the end of the invocation,
// elsewhere the deadline of ctx. The end of a lease with a heartbeat does not
// count.
func HandlerDeadline(ctx context.Context, x *idempotent.Executor) (deadline time.Time, ok bool) {
	return options.ForAdapters(x).HandlerDeadline(ctx)
}

// Margin returns Config.Margin: the time before [HandlerDeadline] below which nothing
// starts. 0 stands for the default.
func Margin(x *idempotent.Executor) time.Duration { return options.ForAdapters(x).Margin() }

// RefusesLate reports whether calls of x can end with an [*idempotent.KeyExpiredError]: Config.RefuseLate
// is set, and ONCE_DISABLED is not.
func RefusesLate(x *idempotent.Executor) bool { return options.ForAdapters(x).RefusesLate() }

// Resumes reports whether Config.Resume is set. Nothing is stored if x is [Disabled].
func Resumes(x *idempotent.Executor) bool { return options.ForAdapters(x).Resumes() }

// A resumer has the methods of an Executor for adapters that name types of package
// driver.
type resumer interface {
	ClockSkew() time.Duration
	Observer() idempotent.Observer
	Request(context.Context, driver.Record) ([]byte, error)
	Store() driver.Store
}

// ClockSkew returns Config.ClockSkew, or its default.
func ClockSkew(x *idempotent.Executor) time.Duration {
	return options.ForAdapters(x).(resumer).ClockSkew()
}

// ObserverOf returns Config.Observer, or its default.
func ObserverOf(x *idempotent.Executor) idempotent.Observer {
	return options.ForAdapters(x).(resumer).Observer()
}

// Request returns the request that is stored in a record of x, as JSON. An error is an
// [*idempotent.ResumeError].
func Request(ctx context.Context, x *idempotent.Executor, r driver.Record) ([]byte, error) {
	return options.ForAdapters(x).(resumer).Request(ctx, r)
}

// StoreOf returns the store of x.
func StoreOf(x *idempotent.Executor) driver.Store { return options.ForAdapters(x).(resumer).Store() }

// Seals reports whether x has a Config.Sealer. Adapters that write logs use it: data
// that a store may not read must not appear in a log.
func Seals(x *idempotent.Executor) bool { return options.ForAdapters(x).Seals() }

// Shared returns a copy of config, which may be nil, for records that a second library
// writes without a fence, as Powertools does. Its takeover replaces the whole record,
// and with it the attempts and the finished steps. So [idempotent.New] refuses the
// Config with a Codec, MaxAttempts, Payloads or a Sealer, a handler that uses
// [idempotent.Step] or [idempotent.SagaStep] fails, and [idempotent.Permanent] errors
// are treated as with ReleasePermanent.
func Shared(config *idempotent.Config) *idempotent.Config {
	var shared idempotent.Config
	if config != nil {
		shared = *config
	}
	options.Share(&shared)
	return &shared
}

// FinishedSagaSteps returns how many steps of the innermost call that ctx
// belongs to would be undone if it failed for good. It returns 0 outside of a
// call. It serves adapters whose handlers report a failure in their result.
func FinishedSagaSteps(ctx context.Context) int {
	call, ok := driver.CallOf(ctx).(interface{ FinishedSagaSteps() int })
	if !ok {
		return 0
	}
	return call.FinishedSagaSteps()
}
