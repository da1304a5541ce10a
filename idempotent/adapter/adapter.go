// Package adapter serves authors of adapters: code that turns the events of a
// trigger into calls of package idempotent, as package handlers does.
package adapter

import (
	"cmp"
	"context"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// Settings say how a call of Do or of a wrapped handler is made. A field with its
// zero value changes nothing.
type Settings struct {
	// Event is filled in before the call returns. Adapters use it to label
	// replays, and tests to inspect a call. Make only one call with it.
	Event *idempotent.Event

	// Chain is the [idempotent.ChainKey] that came with the message: the calls
	// continue its chain. Use it only for messages from trusted senders. Whoever
	// chooses the chain chooses the keys of the messages that follow.
	Chain string

	// Wait is how long the call waits for the result of a running duplicate, in
	// place of Config.Wait. It serves adapters that know how long their trigger can
	// wait. Whether identical calls of one process share an execution depends on
	// Config.Wait alone.
	Wait *time.Duration

	// ReadFirst makes the call read its record before it claims it, as
	// Config.ReadFirst does. It serves adapters that know that an event has been
	// delivered before.
	ReadFirst bool

	// Turn is called when the call has claimed its record, before it runs the
	// handler. It serves adapters that claim the records of a batch together and run
	// them one after another.
	//
	// The context of Turn is the handler's: it ends with the lease. After an error
	// of Turn, the handler does not run, and the claim is released uncounted. The
	// call then returns that error, and its outcome is [idempotent.OutcomeNotRun].
	// The outcome is the same if the claim no longer serves when Turn returns: its
	// lease has ended, or it had failed open. It is the same for a call that ends
	// before it has called Turn, unless it has replayed a result. Make such a call
	// again, in its turn.
	//
	// Do not set Turn for an executor whose [idempotent.Executor.ClaimsAhead] is
	// false.
	Turn func(context.Context) error

	// LastStart is the time after which the handler does not start. Every call to
	// the store before the start may take half of the time until then, at least
	// 500 ms and at most 5 s. So a store that does not answer leaves time for the
	// other records of a batch. The zero time sets no limit.
	//
	// If the claim is answered after LastStart, it is released uncounted. The call
	// then returns Late, or context.DeadlineExceeded if Late is nil, and its outcome
	// is [idempotent.OutcomeNotRun].
	LastStart time.Time
	Late      error

	// Waiting is called if the call waits for a running duplicate for more than a
	// moment. Each call within its handler does the same: Waiting may be called
	// several times, and at once. It serves adapters that claim ahead (see Turn): the
	// duplicate may itself be waiting for one of those claims, so release them in
	// the meantime.
	Waiting func()

	// Attaching is called when the handler opens a transaction, before the first
	// write is added to it, and panics if the transaction comes too late. It serves
	// adapters whose handlers respond while they run: a client that has received a
	// part of the response cannot be told that nothing was committed.
	Attaching func()

	// Sibling stands for the calls that write at about the same time, such as the
	// other records of a batch. A store that sends several writes in one request
	// asks it how many more to wait for.
	Sibling driver.Sibling

	// Execution has the call claim its record for a durable execution.
	Execution *Execution
}

// An Execution is a durable execution, which continues in other invocations, or a
// step within it.
//
// The owner of its claim is derived from the id and the record. So a later
// invocation that calls with the same id and key enters its own record again at
// once, and any other call meets an [idempotent.InProgressError]. The claim holds
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

	// Settle returns what a run asks for, when the handler has returned or
	// panicked. [idempotent.OutcomeExecuted] completes the record, and
	// [idempotent.OutcomeReleased] releases the key. Anything else leaves the claim,
	// with [idempotent.OutcomeSuspended]. If the result of a completed record is
	// unavailable, the execution's own call runs the handler again, without a claim:
	// it replays what its service has recorded. The handler of such a call can use
	// neither steps nor transactions. It does not take over a record with finished
	// steps: the call returns an [*idempotent.StepsLeftError].
	//
	// Nil is for a step: the run is settled as that of any call. But an error after
	// the end of the context, or of the invocation, leaves the claim. By then another
	// invocation may run under it.
	Settle func(err error) idempotent.Outcome

	// Ask returns the state of the execution that another call had as the first part
	// of its ID. The call asks before it takes over a claim that contains one, when the
	// claim's lease has lapsed: the service may have stopped that execution's clock. The
	// result is that of an execution that succeeded, as this call stores its own, or
	// nil. The context ends early enough for the takeover.
	//
	// The claim stays if the execution is active, or if Ask returns an error: the call
	// returns an [*idempotent.InProgressError] with that error. After a success the call
	// completes the record with the result, and replays it. Without a result it returns
	// an [*idempotent.OutcomeUnknownError]. The claim of a step within an execution that
	// has ended is taken over, however it ended. The records of such calls expire
	// a year later than others while they are in progress, so that they outlive a
	// pause.
	//
	// If Ask is nil, a claim is taken over when its lease has lapsed. So is a claim that
	// a call without Ask made.
	Ask func(ctx context.Context, id string) (state ExecutionState, result []byte, err error)
}

// An ExecutionState is what the service of a durable execution knows of it.
type ExecutionState uint8

// The states of an execution.
const (
	// ExecutionActive is the state of an execution that runs or is paused, or of which
	// nothing certain is known.
	ExecutionActive = ExecutionState(options.ExecutionActive)
	// ExecutionSucceeded is the state of one that has succeeded.
	ExecutionSucceeded = ExecutionState(options.ExecutionSucceeded)
	// ExecutionEnded is the state of one that ended without success, or that the
	// service does not know.
	ExecutionEnded = ExecutionState(options.ExecutionEnded)
)

// With returns a context whose calls have the settings s. Where s changes nothing,
// those of ctx hold. They do not apply to calls that the handlers of these calls
// make.
func With(ctx context.Context, s Settings) context.Context {
	o := *options.Of(ctx)
	o.Chain = cmp.Or(s.Chain, o.Chain)
	o.Wait = cmp.Or(s.Wait, o.Wait)
	o.ReadFirst = s.ReadFirst || o.ReadFirst
	if s.Event != nil {
		o.Event = s.Event
	}
	if s.Turn != nil {
		o.Turn = s.Turn
	}
	if !s.LastStart.IsZero() {
		o.LastStart, o.Late = s.LastStart, s.Late
	}
	if s.Waiting != nil {
		o.Waiting = s.Waiting
	}
	if s.Attaching != nil {
		o.Attaching = s.Attaching
	}
	if s.Execution != nil {
		o.Execution = s.Execution.option()
	}
	if s.Sibling != nil {
		ctx = driver.WithSibling(ctx, s.Sibling)
	}
	return options.With(ctx, &o)
}

// WithEvent returns a context for one call, and the Event that it fills in: the
// setting Event alone.
func WithEvent(ctx context.Context) (context.Context, *idempotent.Event) {
	event := new(idempotent.Event)
	return With(ctx, Settings{Event: event}), event
}

func (e *Execution) option() *options.Execution {
	o := &options.Execution{ID: e.ID, Until: e.Until}
	if settle := e.Settle; settle != nil {
		o.Settle = func(err error) string { return string(settle(err)) }
	}
	if ask := e.Ask; ask != nil {
		o.Ask = func(ctx context.Context, id string) (options.ExecutionState, []byte, error) {
			state, result, err := ask(ctx, id)
			return options.ExecutionState(state), result, err
		}
	}
	return o
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
