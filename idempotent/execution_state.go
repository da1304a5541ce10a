package idempotent

import (
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// The service can stop the clock of an execution's timeout, and our leases run on. So
// the lapsed claim of an execution does not show that the execution has ended, and a
// takeover asks the service first. See adapter.Execution.

var (
	errExecutionActive = errors.New("its durable execution has not ended, or is paused")
	errNoServiceResult = errors.New("idempotent: the durable execution that owns the key has succeeded, and its service has no result")
)

// askFirst asks about the execution that made a claim that has lapsed. It returns the
// conclusion of the call, and reports whether the call ends without a takeover.
func (c *call) askFirst(ctx context.Context, met driver.Record) (_ conclusion, ends bool) {
	id := protocol.NamedExecution(met.Owner)
	if c.execution == nil || c.execution.Ask == nil || id == "" {
		return conclusion{}, false
	}
	limited, cancel := c.askingTime(ctx)
	defer cancel()
	state, result, err := c.execution.Ask(limited, id)
	c.look()
	// The claim of a step stays behind if its execution ends without it.
	ofStep := !protocol.IsSameExecution(met.Owner, protocol.ExecutionOwner(c.id, []string{id}, max(met.Attempt, 1)))
	switch {
	case err != nil:
		return c.inProgress(driver.Record{}, err), true
	case state == options.ExecutionEnded, state == options.ExecutionSucceeded && ofStep:
		return conclusion{}, false
	case state != options.ExecutionSucceeded:
		return c.inProgress(driver.Record{}, errExecutionActive), true
	case len(result) == 0 || c.owner != protocol.Execution: // the result of a handler is none of a step
		c.tally.suppress(errNoServiceResult)
		return conclusion{outcome: OutcomeUnknown, err: &OutcomeUnknownError{KeyHash: c.hash, Attempts: met.Used()}}, true
	}
	return c.completeFor(ctx, met, result), true
}

// askingTime returns a context that leaves at least half of the time until the
// Reserve to the takeover.
func (w *writer) askingTime(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := longestAttempt
	if deadline, ok := w.x.handlerDeadline(ctx, w.invocation); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, limit)
}

// completeFor completes the record for its execution, whose completion was not
// stored, and under its owner. The service forgets the execution before messages stop
// to come back.
func (c *call) completeFor(ctx context.Context, met driver.Record, result []byte) conclusion {
	if err := c.work.decode(result); err != nil {
		return conclusion{outcome: OutcomeFailed, err: &ResultUnavailableError{KeyHash: c.hash, Reason: "the result of the service does not decode", Err: err}}
	}
	own := met
	own.Lease = c.leaseFrom(c.now)
	e := c.complete(ctx, &lease{mode: c.mode(protocol.Claimed), record: own})
	if e.err == nil {
		e.outcome = OutcomeReplayed
	}
	return e
}
