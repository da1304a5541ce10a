package idempotent

import (
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/ids"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// A durable execution runs its handler again in each of its invocations, until
// it is finished. All of them own one claim: see adapter.Execution. They
// also share its fence, so a write that only one of them may make asks isOver
// first.

// unprotectedIDIn returns the id of a call without a key. It is the same each time
// that the execution, or the step within it, makes the call. Several operations may
// be called in one step.
func (x *Executor) unprotectedIDIn(e *options.Execution) string {
	operation := ""
	if e.Decide == nil {
		operation = x.operation
	}
	return unprotectedPrefix + ids.ExecutionOwner(operation, e.ID, 1)
}

// returnSteps releases a record that an execution owns and that has steps: the last
// one arrived between the read of the record and its takeover. All invocations of the
// execution find it, so none has run.
func (c *call) returnSteps(ctx context.Context, met driver.Record) conclusion {
	l := &lease{record: met}
	e := c.release(ctx, l, &StepsLeftError{RecordID: c.shown}, true)
	switch {
	case l.unreleased != nil: // as in release
		e.err = &StoreError{Op: "release", Err: l.unreleased.Err}
	case e.outcome == OutcomeReleased:
		e.outcome = OutcomeFailed
	}
	return e
}

// replaysItself reports whether the finished record is that of the execution
// whose handler is called again: its service did not receive the result.
func (w *writer) replaysItself(record driver.Record) bool {
	return w.mode.IsExecution() && record.Status == driver.Completed && record.Owner == w.ownerOf(record.Attempt, "", record.Owner)
}

const longestExecution = 366 * 24 * time.Hour

func (x adapted) CheckExecutions(timeout time.Duration) error {
	var mistakes driver.Mistakes
	refuse := func(wrong bool, format string, args ...any) {
		mistakes.If(wrong, "idempotent: a durable function with "+format, args...)
	}
	_, isJSON := x.config.Codec.(JSON)
	refuse(timeout < time.Second || timeout > longestExecution,
		"an execution timeout of %v: it is that of the function's DurableConfig, 1 s to 366 days", timeout)
	refuse(x.config.ProviderMemory != 0, "Config.ProviderMemory: it may pause for longer; set it in executors that its steps use")
	refuse(x.config.Resume, "Config.Resume: its service resumes it")
	refuse(!isJSON, "Config.Codec: its results are JSON texts of the service")
	refuse(x.config.Lease != 0, "Config.Lease: its claim lasts for the execution's timeout")
	refuse(x.config.OnStoreError == FailOpen, "OnStoreError FailOpen: without a claim, a duplicate runs during the first suspension")
	refuse(x.config.Optimistic, "Config.Optimistic: without a claim, every duplicate runs")
	refuse(x.config.Wait != 0, "Config.Wait: a suspension outlasts the invocation that would wait; the service retries in its place")
	return mistakes.Err()
}

// The service can stop the clock of an execution's timeout, and our leases run on. So
// the lapsed claim of an execution does not show that the execution has ended, and a
// takeover asks the service first. See adapter.Execution.

var (
	errExecutionActive = errors.New("its durable execution has not ended, or is paused")
	errNoServiceResult = errors.New("idempotent: the durable execution that owns the key has succeeded, and its service has no result")
)

// askFirst asks about the execution that made a claim that has lapsed. It returns the
// conclusion of a call that ends without a takeover.
func (c *call) askFirst(ctx context.Context, met driver.Record) conclusion {
	id := ids.NamedExecution(met.Owner)
	if c.execution == nil || c.execution.Ask == nil || id == "" {
		return conclusion{}
	}
	limited, cancel := context.WithTimeout(ctx, c.AskTime(ctx))
	defer cancel()
	state, result, err := c.execution.Ask(limited, id)
	c.look()
	// The claim of a step stays behind if its execution ends without it.
	ofStep := !ids.IsSameExecution(met.Owner, ids.ExecutionOwner(c.id, []string{id}, max(met.Attempt, 1)))
	switch {
	case err != nil:
		return c.inProgress(driver.Record{}, err)
	case state == options.ExecutionEnded, state == options.ExecutionSucceeded && ofStep:
		return conclusion{}
	case state != options.ExecutionSucceeded:
		return c.inProgress(driver.Record{}, errExecutionActive)
	case len(result) == 0 || !c.mode.IsExecution(): // the result of a handler is none of a step
		c.tally.suppress(errNoServiceResult)
		return conclusion{outcome: OutcomeUnknown, err: &OutcomeUnknownError{RecordID: c.shown, Attempts: met.Used()}}
	}
	return c.completeFor(ctx, met, result)
}

// completeFor completes the record for its execution, whose completion was not
// stored, and under its owner. The service forgets the execution before messages stop
// to come back.
func (c *call) completeFor(ctx context.Context, met driver.Record, result []byte) conclusion {
	if err := c.work.decode(result); err != nil {
		return conclusion{outcome: OutcomeFailed, err: &ResultUnavailableError{RecordID: c.shown, Reason: "the result of the service does not decode", Err: err}}
	}
	own := met
	own.Lease = c.leaseFrom(c.now)
	e := c.complete(ctx, &lease{record: own})
	if e.err == nil {
		e.outcome = OutcomeReplayed
	}
	return e
}
