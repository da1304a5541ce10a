package idempotent

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/canonical"
)

// complete records the result of a handler that succeeded. Nothing is released
// from here on: the work is done.
func (c *call) complete(ctx context.Context, h *hold) ending {
	return c.end(ctx, h, c.encoded(ctx, h, func(withoutResult driver.Change) {
		e := c.end(ctx, h, withoutResult)
		if c.abandoned = e.outcome; e.err != nil {
			c.passOver(e.err)
		}
	}))
}

// end completes the record, and answers what the caller is to get beside the
// handler's result.
func (c *call) end(ctx context.Context, h *hold, end driver.Change) ending {
	stored, err := c.finish(ctx, h, end)
	switch {
	case err != nil:
		return c.notRecorded(h, "complete", err, nil)
	case wrote(stored, h, end):
		return c.recorded(h, stored)
	default:
		return c.answerLate(ctx, stored)
	}
}

// encoded is the change that completes the record. If what makes it ends
// the goroutine (runtime.Goexit), onExit is called on the way out.
func (c *call) encoded(ctx context.Context, h *hold, onExit func(withoutResult driver.Change)) driver.Change {
	withoutResult := driver.Change{Status: driver.Completed, Unavailable: "the result could not be encoded"}
	returned := false
	defer func() {
		if !returned {
			onExit(withoutResult)
		}
	}()
	data, err := c.work.encode()
	end := withoutResult
	if err == nil {
		end, err = c.ended(ctx, h, driver.Completed, data)
	}
	returned = true
	if err != nil {
		c.passOver(err)
	}
	return end
}

// fail records a permanent error.
func (c *call) fail(ctx context.Context, h *hold, cause error, undone []string) ending {
	end, err := c.failed(ctx, h, cause, undone)
	if err != nil {
		return c.notRecorded(h, "fail", err, unmarked(cause))
	}
	stored, err := c.finish(ctx, h, end)
	switch {
	case err != nil:
		return c.notRecorded(h, "fail", err, unmarked(cause))
	case wrote(stored, h, end):
		outcome := OutcomeFailed
		if h.open {
			outcome = OutcomeBypassed
		}
		return ending{outcome, unmarked(cause)}
	default:
		c.passOver(unmarked(cause))
		return c.answerLate(ctx, stored)
	}
}

// failed is the change that stores a permanent error.
func (c *call) failed(ctx context.Context, h *hold, cause error, undone []string) (driver.Change, error) {
	f := describeFailure(cause)
	f.Compensated = undone
	data, err := json.Marshal(f)
	if err != nil {
		return driver.Change{}, err
	}
	end, err := c.ended(ctx, h, driver.Failed, data)
	if err != nil {
		c.passOver(err)
		c.passOver(&ResultUnavailableError{KeyHash: c.hash, Failed: true, Reason: end.Unavailable})
	}
	return end, nil
}

// answerLate gives the caller of a run that lost its lease what the record now
// holds: all callers get one answer.
func (c *call) answerLate(ctx context.Context, stored driver.Record) ending {
	c.share(stored)
	return ending{OutcomeLeaseLost, c.decode(ctx, stored)}
}

// notRecorded is the end of a run whose record could not be finished.
func (c *call) notRecorded(h *hold, op string, err, handler error) ending {
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
	case h.open:
		c.passOver(failed)
		return ending{OutcomeBypassed, handler}
	case err == nil:
		return ending{outcome, failed}
	}
	if handler != nil {
		c.passOver(handler)
	}
	return ending{outcome, err}
}

// wrote reports whether the finished record is this call's own work. One that
// carries our token is not enough: a writer that knows no fence may have
// changed its result, and all callers must get the same.
func wrote(stored driver.Record, h *hold, end driver.Change) bool {
	return stored.Owner == h.record.Owner && stored.Status == end.Status &&
		(stored.Unavailable != "" || end.Unavailable == "" && stored.Payload == end.Payload && sameData(stored.Data, end.Data))
}

// sameData also takes two spellings of one JSON value for the same: a store
// that keeps values and not their text gives another one back.
func sameData(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	one, err := canonical.Append(nil, a)
	if err != nil {
		return false
	}
	other, err := canonical.Append(nil, b)
	return err == nil && bytes.Equal(one, other)
}

// finish ends the record, and returns it as it then is.
func (c *call) finish(ctx context.Context, h *hold, end driver.Change) (driver.Record, error) {
	ctx, cancel := c.finishing(ctx, h)
	defer cancel()
	rules := &finishing
	if h.sent {
		rules = &finishingAfterCommit
	}
	if h.open {
		rules = rules.once()
	}
	s := c.x.repeat(ctx, write{
		policy: rules, own: h.record,
		wrote: func(met driver.Record) bool { return wrote(met, h, end) },
		send: func(ctx context.Context, how ruling, met driver.Record) reply {
			now := wall(c.look())
			end.Expires = c.x.expiresFinished(now)
			return c.try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
				switch how {
				case adopt:
					return c.adopt(ctx, h, end, met)
				case recreate:
					return c.create(ctx, c.finishedRecord(h, end), now.Add(-c.x.config.ClockSkew))
				default:
					return c.change(ctx, driver.Fence{ID: c.id, Owner: h.record.Owner}, end)
				}
			})
		},
	})
	stored := s.met
	switch s.ruling {
	case done, takeTheirs:
		if s.ok {
			stored = c.written(h, end, s.met)
		}
		c.share(stored)
		return stored, nil
	case yield:
		return driver.Record{}, c.leaseLost(h).err
	case vanished:
		return driver.Record{}, c.outcomeUnknown(errRecordGone).err
	default:
		return driver.Record{}, s.err
	}
}

// try is one of the tries within ctx. It has a part of the time, so that one
// connection that hangs does not take the time of all the others.
func (c *call) try(ctx context.Context, write func(context.Context) (driver.Record, bool, error)) reply {
	ctx, cancel := attemptTime(ctx)
	defer cancel()
	met, ok, err := write(ctx)
	return reply{met, ok, err}
}

// tryChange is one try of a change that our owner fences.
func (c *call) tryChange(ctx context.Context, h *hold, change driver.Change) reply {
	return c.try(ctx, func(ctx context.Context) (driver.Record, bool, error) {
		return c.change(ctx, driver.Fence{ID: c.id, Owner: h.record.Owner}, change)
	})
}

// adopt finishes a record that a successor released.
func (c *call) adopt(ctx context.Context, h *hold, end driver.Change, met driver.Record) (driver.Record, bool, error) {
	end.Owner, end.Fingerprint = h.record.Owner, h.record.Fingerprint
	return c.change(ctx, driver.Fence{ID: c.id, Attempt: met.Attempt, Lease: met.Lease}, end)
}

// finishedRecord is the record that a finishing write leaves.
func (c *call) finishedRecord(h *hold, end driver.Change) driver.Record {
	return driver.Record{
		ID: c.id, Status: end.Status, Owner: h.record.Owner,
		Attempt: max(h.record.Attempt, 1), Refunds: h.record.Refunds, Fingerprint: h.record.Fingerprint,
		Expires: end.Expires, Data: end.Data, Payload: end.Payload, Unavailable: end.Unavailable,
	}
}
