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

// An Execution is a durable execution, which continues in later invocations, or a
// step within it.
//
// The owner of its claim is derived from the id and the record. So a later
// invocation that calls with the same id and key enters its own record again at
// once. A call with a different id meets an [idempotent.InProgressError]. The claim holds
// until the time Until, or until the end of the invocation if that is later,
// without a heartbeat. Neither an error of the store nor a lack of time releases
// it.
type Execution struct {
	// ID identifies the execution, and the step if it is one. A call without a key
	// derives its downstream keys from it. With Ask its first part is stored in the
	// owner of the claim, as plain text.
	ID []string

	// Until is the end of the execution.
	Until time.Time

	// Decide decides on the record when the handler has returned or panicked.
	// [idempotent.OutcomeExecuted] completes the record, and
	// [idempotent.OutcomeReleased] releases the key. Every other outcome leaves the
	// claim, with [idempotent.OutcomeSuspended]. If the result of a completed record is
	// unavailable, the execution's own call runs the handler again, without a claim:
	// the handler replays the steps that its service has recorded. The handler of such a call can use
	// neither steps nor transactions. It does not take over a record with finished
	// steps: the call returns an [*idempotent.StepsLeftError].
	//
	// Nil is for a step: the run is settled as that of any call. But an error after
	// the end of the context, or of the invocation, leaves the claim, because the next
	// invocation may already run under it.
	Decide func(err error) idempotent.Outcome

	// Ask returns the state of an execution by the first part of its ID. The call asks
	// before it takes over a claim that contains one, when the claim's lease has lapsed: the service may have stopped that execution's clock. The
	// result is that of an execution that succeeded, as this call stores its own, or
	// nil. The context ends early enough for the takeover.
	//
	// The claim stays if the execution is active, or if Ask returns an error: the call
	// returns an [*idempotent.InProgressError] with that error. After a success the call
	// completes the record with the result, and replays it. Without a result it returns
	// an [*idempotent.OutcomeUnknownError]. The claim of a step within an execution that
	// has ended is taken over, however it ended. While they
	// are in progress, the records of such calls expire a year later than usual, so that
	// they outlive a pause.
	//
	// If Ask is nil, a claim is taken over when its lease has lapsed. So is a claim that
	// a call without Ask made.
	Ask func(ctx context.Context, id string) (state ExecutionState, result []byte, err error)
}

// An ExecutionState is the state of a durable execution by its service.
type ExecutionState = options.ExecutionState

// The states of an execution.
const (
	// ExecutionActive is the state of an execution that runs or is paused, or of which
	// nothing certain is known.
	ExecutionActive = options.ExecutionActive
	// ExecutionSucceeded is the state of one that has succeeded.
	ExecutionSucceeded = options.ExecutionSucceeded
	// ExecutionEnded is the state of one that ended without success, or that the
	// service does not know.
	ExecutionEnded = options.ExecutionEnded
)

// Durable has the call claim its record for a durable execution.
func Durable(e Execution) Setting {
	own := &options.Execution{ID: e.ID, Until: e.Until, Ask: e.Ask}
	if decide := e.Decide; decide != nil {
		own.Decide = func(err error) string { return string(decide(err)) }
	}
	return Setting{func(o *options.Options) { o.Execution = own }}
}
