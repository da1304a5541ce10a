package idempotent

import (
	"context"
	"encoding/json"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
	"github.com/lambda-once/once/internal/canonical"
)

// complete records the result of a handler that succeeded. The work is done, so
// nothing is released from here on.
func (c *call) complete(ctx context.Context, l *lease) ending {
	return c.completeWith(ctx, l, c.completion(ctx, l, func(withoutResult driver.Change) {
		e := c.completeWith(ctx, l, withoutResult)
		if c.abandoned = e.outcome; e.err != nil {
			c.suppress(e.err)
		}
	}))
}

func (c *call) completeWith(ctx context.Context, l *lease, change driver.Change) ending {
	stored, err := c.finish(ctx, l, change)
	switch {
	case err != nil:
		return c.notRecorded(l, "complete", err, nil)
	case wrote(stored, l, change):
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
		c.suppress(err)
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
	case wrote(stored, l, change):
		outcome := OutcomeFailed
		if l.unconfirmed {
			outcome = OutcomeBypassed
		}
		return ending{outcome: outcome, err: bare(cause)}
	default:
		c.suppress(bare(cause))
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
		c.suppress(err)
		c.suppress(&ResultUnavailableError{KeyHash: c.hash, Failed: true, Reason: change.Unavailable})
	}
	return change, nil
}

// recorded ends a call whose own result is recorded.
func (c *call) recorded(l *lease, r driver.Record) ending {
	c.share(r)
	if r.Unavailable != "" {
		c.suppress(&ResultUnavailableError{KeyHash: c.hash, Reason: r.Unavailable})
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
		c.suppress(failed)
		return ending{outcome: OutcomeBypassed, err: handler}
	case err == nil:
		return ending{outcome: outcome, err: failed}
	}
	if handler != nil {
		c.suppress(handler)
	}
	return ending{outcome: outcome, err: err}
}

// wrote reports whether the finished record is this call's own work. Our token
// is not enough: an unfenced writer may have changed the result, and every
// caller must receive the same.
func wrote(stored driver.Record, l *lease, change driver.Change) bool {
	return stored.Owner == l.record.Owner && stored.Status == change.Status &&
		(stored.Unavailable != "" || change.Unavailable == "" && stored.Payload == change.Payload && canonical.Equal(stored.Data, change.Data))
}

// finish finishes the record, and returns it as it is stored.
func (c *call) finish(ctx context.Context, l *lease, change driver.Change) (driver.Record, error) {
	ctx, cancel := c.settling(ctx, l)
	defer cancel()
	rules := &protocol.Finishing
	if l.committed {
		rules = &protocol.FinishingAfterCommit
	}
	if l.unconfirmed {
		rules = rules.Once()
	}
	s := c.x.repeat(ctx, write{
		Policy: rules, own: l.record,
		wrote: func(met driver.Record) bool { return wrote(met, l, change) },
		send: func(ctx context.Context, how protocol.Ruling, met driver.Record) protocol.Reply {
			now := wall(c.look())
			change.Expires = c.x.times.ExpiresFinished(now)
			return try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				switch how {
				case protocol.Adopt:
					return c.adopt(ctx, l, change, met)
				case protocol.Recreate:
					return c.create(ctx, c.finishedRecord(l, change), now.Add(-c.x.config.ClockSkew), nil)
				default:
					return c.change(ctx, driver.Fence{ID: c.id, Owner: l.record.Owner}, change)
				}
			})
		},
	})
	stored := s.Met
	switch s.Ruling {
	case protocol.Done, protocol.TakeTheirs:
		if s.OK {
			stored = c.written(l, change, s.Met)
		}
		c.share(stored)
		return stored, nil
	case protocol.Yield:
		return driver.Record{}, c.leaseLost(l).err
	case protocol.Vanished:
		return driver.Record{}, c.outcomeUnknown(errRecordGone).err
	default:
		return driver.Record{}, s.Err
	}
}

// adopt finishes a record that a successor released.
func (c *call) adopt(ctx context.Context, l *lease, change driver.Change, met driver.Record) (driver.Record, bool, error) {
	change.Owner, change.Fingerprint = l.record.Owner, l.record.Fingerprint
	return c.change(ctx, driver.Fence{ID: c.id, Attempt: met.Attempt, Lease: met.Lease}, change)
}

// finishedRecord returns the record that a finishing write leaves.
func (c *call) finishedRecord(l *lease, change driver.Change) driver.Record {
	return driver.Record{
		ID: c.id, Status: change.Status, Owner: l.record.Owner,
		Attempt: max(l.record.Attempt, 1), Refunds: l.record.Refunds, Fingerprint: l.record.Fingerprint,
		Expires: change.Expires, Data: change.Data, Payload: change.Payload, Unavailable: change.Unavailable,
	}
}

// written returns the record that a finishing write left, according to its
// answer.
func (c *call) written(l *lease, change driver.Change, answer driver.Record) driver.Record {
	r := c.finishedRecord(l, change)
	if answer.Unavailable != "" {
		r.Data, r.Payload, r.Unavailable = nil, "", answer.Unavailable
	}
	return r
}
