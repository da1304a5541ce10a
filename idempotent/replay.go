package idempotent

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/protocol"
	"github.com/lambda-once/once/internal/form"
)

// The endings of a call whose caller receives the result of a different call, or none.

// withoutRun ends a call whose handler does not run.
func (c *call) withoutRun(ctx context.Context, v protocol.Verdict, met driver.Record) conclusion {
	e := c.refusal(ctx, v, met)
	switch {
	case c.options.Resumed == nil, v == protocol.ReplayRecord:
	case v == protocol.OutcomeLost, v == protocol.KeyForgotten: // it rings until a person decides
	case v == protocol.RefuseLate:
		return conclusion{outcome: OutcomeNotRun, err: &ResumeError{Reason: "it is gone"}}
	default:
		e.outcome = OutcomeNotRun // no client has made a call
	}
	return e
}

func (c *call) refusal(ctx context.Context, v protocol.Verdict, met driver.Record) conclusion {
	switch v {
	case protocol.ReplayRecord:
		return c.replay(ctx, met)
	case protocol.RefuseReuse:
		return conclusion{outcome: OutcomeMismatch, err: &KeyReusedError{RecordID: c.shown}}
	case protocol.RefuseLate:
		if c.unacknowledged { // its own commit may still arrive
			return c.outcomeUnknown(errRecordGone)
		}
		return conclusion{outcome: OutcomeExpired, err: &KeyExpiredError{RecordID: c.shown, Issued: c.issued, Age: c.now.Sub(c.issued)}}
	case protocol.OutcomeLost:
		return conclusion{outcome: OutcomeUnknown, err: &OutcomeUnknownError{RecordID: c.shown, Attempts: met.Used()}}
	case protocol.KeyForgotten:
		return conclusion{outcome: OutcomeForgotten, err: &KeyForgottenError{RecordID: c.shown, Began: met.Began, Attempts: met.Used()}}
	default:
		return conclusion{outcome: OutcomeFailed, err: &StoreError{Op: "claim", Err: errors.New("the record has a status that this version does not know, as a newer version of Once may write; upgrade this function, or inspect the record")}}
	}
}

func (w *writer) inProgress(met driver.Record, err error) conclusion {
	until := met.Lease
	if met.Status != driver.InProgress || until.Equal(driver.LeaseEnded) {
		until = time.Time{}
	}
	return conclusion{outcome: OutcomeConflict, err: &InProgressError{RecordID: w.shown, Until: until, Err: err}}
}

// replay returns the contents of a finished record to the caller.
func (c *call) replay(ctx context.Context, record driver.Record) conclusion {
	if record.Fingerprint != "" && c.fingerprint != "" && record.Fingerprint != c.fingerprint {
		return conclusion{outcome: OutcomeMismatch, err: &KeyReusedError{RecordID: c.shown}}
	}
	c.share(record)
	err := c.decode(ctx, record)
	if _, none := err.(*ResultUnavailableError); none && c.replaysItself(record) {
		// The operations of the finished execution return their recorded results.
		return conclusion{outcome: OutcomeReplayed, err: c.bypass(ctx).err}
	}
	return conclusion{outcome: OutcomeReplayed, err: err}
}

// share stores a finished record for the cache and for joined calls.
func (c *call) share(record driver.Record) {
	if c.x.cache != nil || c.x.flights != nil {
		shared := record
		c.finished = &shared
	}
}

func (c *call) decode(ctx context.Context, record driver.Record) error {
	if record.Status == driver.Completed && !c.work.hasResult() {
		return nil
	}
	data, err := c.storedData(ctx, record)
	if err != nil {
		failed := unavailable(c.shown, err)
		failed.Failed = record.Status == driver.Failed
		return failed
	}
	if record.Status == driver.Failed {
		replayed, err := decodeFailure(data)
		if err != nil {
			return &ResultUnavailableError{RecordID: c.shown, Failed: true, Reason: "the stored error does not decode", Err: err}
		}
		return replayed
	}
	switch accept := c.options.Resolved; {
	case !record.Resolved():
	case accept != nil && accept(data):
		return nil
	case accept == nil && strings.HasPrefix(record.Owner, driver.OperatorHTTPOwner):
		return &ResultUnavailableError{RecordID: c.shown, Reason: "an operator stored it as an HTTP response, which this caller cannot read; resolve the record again with --data"}
	}
	if err := c.work.decode(data); err != nil {
		if none, ok := err.(*unreadable); ok {
			return unavailable(c.shown, none)
		}
		return &ResultUnavailableError{RecordID: c.shown, Reason: "the stored result does not decode into the caller's type", Err: err}
	}
	return nil
}

// storedData returns the decoded contents of a finished record.
func (w *writer) storedData(ctx context.Context, record driver.Record) ([]byte, error) {
	e := form.Stored{Data: record.Data, Payload: record.Payload, Unavailable: record.Unavailable}
	return w.x.decodeStored(ctx, w.place(record.Status), e)
}

// replaySuccessor ends a run that lost its lease with the contents of the
// record: every caller receives the same result.
func (c *call) replaySuccessor(ctx context.Context, stored driver.Record) conclusion {
	c.share(stored)
	return conclusion{outcome: OutcomeLeaseLost, err: c.decode(ctx, stored)}
}
