package idempotent

import (
	"context"
	"encoding/json"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// complete records the result of a handler that succeeded. The work is done, so
// nothing is released from here on.
func (c *call) complete(ctx context.Context, l *lease) ending {
	return c.completeWith(ctx, l, c.completion(ctx, l, func(withoutResult driver.Change) {
		e := c.completeWith(ctx, l, withoutResult)
		if c.abandoned = e.outcome; e.err != nil {
			c.tally.suppress(e.err)
		}
	}))
}

func (c *call) completeWith(ctx context.Context, l *lease, change driver.Change) ending {
	stored, err := c.finish(ctx, l, change)
	switch {
	case err != nil:
		return c.notRecorded(l, "complete", err, nil)
	case l.wrote(stored, change):
		return c.recorded(l, stored)
	default:
		return c.replaySuccessor(ctx, stored)
	}
}

// completion returns the change that completes the record. If encoding the
// result exits the goroutine (runtime.Goexit), completion calls onExit.
func (c *call) completion(ctx context.Context, l *lease, onExit func(withoutResult driver.Change)) driver.Change {
	withoutResult := driver.Change{Status: driver.Completed, Unavailable: "the result could not be encoded"}
	returned := false
	defer func() {
		if !returned {
			onExit(withoutResult)
		}
	}()
	data, err := c.work.encode()
	change := withoutResult
	if err == nil {
		change, err = c.finishedWith(ctx, l, driver.Completed, data)
	}
	returned = true
	if err != nil {
		c.tally.suppress(err)
	}
	return change
}

// fail records a permanent error.
func (c *call) fail(ctx context.Context, l *lease, cause error, undone []string) ending {
	if l.optimistic {
		return c.failOptimistic(ctx, l, cause)
	}
	change, err := c.failure(ctx, l, cause, undone)
	if err != nil {
		return c.notRecorded(l, "fail", err, bare(cause))
	}
	stored, err := c.finish(ctx, l, change)
	switch {
	case err != nil:
		return c.notRecorded(l, "fail", err, bare(cause))
	case l.wrote(stored, change):
		outcome := OutcomeFailed
		if l.unconfirmed {
			outcome = OutcomeBypassed
		}
		return ending{outcome: outcome, err: bare(cause)}
	default:
		c.tally.suppress(bare(cause))
		return c.replaySuccessor(ctx, stored)
	}
}

// failure returns the change that stores a permanent error.
func (c *call) failure(ctx context.Context, l *lease, cause error, undone []string) (driver.Change, error) {
	f := describeFailure(cause)
	f.Compensated = undone
	data, err := json.Marshal(f)
	if err != nil {
		return driver.Change{}, err
	}
	change, err := c.finishedWith(ctx, l, driver.Failed, data)
	if err != nil {
		c.tally.suppress(err)
		c.tally.suppress(&ResultUnavailableError{KeyHash: c.hash, Failed: true, Reason: change.Unavailable})
	}
	return change, nil
}

// recorded ends a call whose own result is recorded.
func (c *call) recorded(l *lease, r driver.Record) ending {
	c.share(r)
	if r.Unavailable != "" {
		c.tally.suppress(&ResultUnavailableError{KeyHash: c.hash, Reason: r.Unavailable})
	}
	return ending{outcome: l.ran()}
}

// replaySuccessor ends a run that lost its lease with the contents of the
// record: every caller receives the same result.
func (c *call) replaySuccessor(ctx context.Context, stored driver.Record) ending {
	c.share(stored)
	return ending{outcome: OutcomeLeaseLost, err: c.decode(ctx, stored)}
}

// notRecorded ends a run whose record could not be finished.
func (c *call) notRecorded(l *lease, op string, err, handler error) ending {
	failed := &StoreError{Op: op, Executed: true, Err: err, Handler: handler}
	outcome := OutcomeUnknown
	switch err.(type) {
	case *LeaseLostError:
		outcome = OutcomeLeaseLost
	case *OutcomeUnknownError:
	default:
		err = nil
	}
	switch {
	case l.unconfirmed:
		c.tally.suppress(failed)
		return ending{outcome: OutcomeBypassed, err: handler}
	case err == nil:
		return ending{outcome: outcome, err: failed}
	}
	if handler != nil {
		c.tally.suppress(handler)
	}
	return ending{outcome: outcome, err: err}
}

// finish finishes the record, and returns it as it is stored.
func (c *call) finish(ctx context.Context, l *lease, change driver.Change) (driver.Record, error) {
	switch s := c.sendFinish(ctx, l, change); s.Ruling {
	case protocol.Done, protocol.TakeTheirs:
		c.share(s.Met)
		return s.Met, nil
	case protocol.Yield:
		return driver.Record{}, c.leaseLost(l)
	case protocol.Vanished:
		return driver.Record{}, c.outcomeUnknown(errRecordGone).err
	default:
		return driver.Record{}, s.Err
	}
}
