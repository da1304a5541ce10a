package adapter

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/internal/options"
)

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
