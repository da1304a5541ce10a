package idempotent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
	"github.com/lambda-once/once/internal/form"
)

// complete records the result of a handler that succeeded. The work is done, so
// nothing is released from here on.
func (c *call) complete(ctx context.Context, l *lease) conclusion {
	return c.finish(ctx, l, "complete", nil, c.completion(ctx, l, func(withoutResult driver.Change) {
		e := c.finish(ctx, l, "complete", nil, withoutResult)
		c.abandoned = e.outcome
		c.tally.suppress(e.err)
	}))
}

// completion returns the change that completes the record. If encoding the
// result exits the goroutine (runtime.Goexit), completion calls onExit.
func (c *call) completion(ctx context.Context, l *lease, onExit func(withoutResult driver.Change)) driver.Change {
	withoutResult := finishing(driver.Completed, form.Failure{})
	withoutResult.Unavailable = "the result could not be encoded"
	returned := false
	defer func() {
		if !returned {
			onExit(withoutResult)
		}
	}()
	data, err := c.work.encode()
	change := withoutResult
	switch {
	case err == nil:
		change, err = c.finishedWith(ctx, l, withoutResult, data)
	case errors.Is(err, driver.ErrTooLarge):
		change.Unavailable = "the result was too large"
	}
	returned = true
	if err != nil {
		c.tally.suppress(err)
	}
	return change
}

// finishing returns a change that finishes a record, without its result. Nothing else reads
// the time of the end: every try of the write has the same.
func finishing(status driver.Status, f form.Failure) driver.Change {
	return driver.Change{Status: status, Ended: driver.Ending{At: time.UnixMilli(time.Now().UnixMilli()), Type: f.Type, Code: f.Code}}
}

// finishedWith returns the change with the encoded data as its result. The error is for the
// observer.
func (c *call) finishedWith(ctx context.Context, l *lease, change driver.Change, data []byte) (driver.Change, error) {
	if c.x.config.Sealer == nil && c.x.config.Payloads == nil || change.Status == driver.Completed && !c.work.hasResult() {
		change.Data, change.Unavailable = data, ""
		return change, nil
	}
	ctx, cancel := c.settling(ctx, l)
	defer cancel()
	e, err := c.x.encodeStored(ctx, c.place(change.Status), data)
	change.Data, change.Payload, change.Unavailable = e.Data, e.Payload, e.Unavailable
	return change, err
}

// fail records a permanent error.
func (c *call) fail(ctx context.Context, l *lease, cause error, undone []string) conclusion {
	change, err := c.failure(ctx, l, cause, undone)
	if err != nil {
		return c.notRecorded(l, "fail", err, bare(cause))
	}
	return c.finish(ctx, l, "fail", bare(cause), change)
}

// failure returns the change that stores a permanent error.
func (c *call) failure(ctx context.Context, l *lease, cause error, undone []string) (driver.Change, error) {
	f := describeFailure(cause)
	f.Compensated = undone
	data, err := json.Marshal(f)
	if err != nil {
		return driver.Change{}, err
	}
	change, err := c.finishedWith(ctx, l, finishing(driver.Failed, f), data)
	if err != nil {
		c.tally.suppress(err)
		c.tally.suppress(&ResultUnavailableError{RecordID: c.shown, Failed: true, Reason: change.Unavailable})
	}
	return change, nil
}

// recorded ends a call whose own result is recorded.
func (c *call) recorded(l *lease, r driver.Record) conclusion {
	c.share(r)
	if r.Unavailable != "" {
		c.tally.suppress(&ResultUnavailableError{RecordID: c.shown, Reason: r.Unavailable})
	}
	switch {
	case c.mode.HasFailedOpen():
		return conclusion{outcome: OutcomeBypassed}
	case l.record.Used() > 1:
		return conclusion{outcome: OutcomeTakeover}
	}
	return conclusion{outcome: OutcomeExecuted}
}

// notRecorded ends a run whose record could not be finished.
func (c *call) notRecorded(l *lease, op string, err, handler error) conclusion {
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
	case c.mode.HasFailedOpen():
		c.tally.suppress(failed)
		return conclusion{outcome: OutcomeBypassed, err: handler}
	case err == nil:
		return conclusion{outcome: outcome, err: failed}
	}
	if handler != nil {
		c.tally.suppress(handler)
	}
	return conclusion{outcome: outcome, err: err}
}

// outcomeUnknown ends a call whose transaction may or may not be committed.
func (w *writer) outcomeUnknown(cause error) conclusion {
	return conclusion{outcome: OutcomeUnknown, err: &OutcomeUnknownError{RecordID: w.shown, Err: cause}}
}

func (w *writer) leaseLost(l *lease) *LeaseLostError {
	return &LeaseLostError{RecordID: w.shown, Attempt: l.record.Attempt}
}

// finish completes or fails the record, and ends the call. handler is the error
// that a failure stores.
func (c *call) finish(ctx context.Context, l *lease, op string, handler error, change driver.Change) conclusion {
	s := c.sendFinish(ctx, l, change)
	err := s.Err
	switch s.Ruling {
	case protocol.Done, protocol.TakeTheirs:
		switch own := s.OK || l.wrote(s.Met, change); {
		case own && handler == nil:
			return c.recorded(l, s.Met)
		case own:
			c.share(s.Met)
			return conclusion{outcome: c.outcome(OutcomeFailed), err: handler}
		case handler != nil:
			c.tally.suppress(handler)
		}
		return c.replaySuccessor(ctx, s.Met)
	case protocol.Yield:
		err = c.leaseLost(l)
	case protocol.Vanished:
		err = c.outcomeUnknown(errRecordGone).err
	}
	return c.notRecorded(l, op, err, handler)
}
