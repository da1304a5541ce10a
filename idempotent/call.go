package idempotent

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// do runs the whole call. keyErr is the error of the key function.
func (x *Executor) do(ctx context.Context, key Key, keyErr error, w work) error {
	o := options.Of(ctx)
	c := &call{work: w, began: time.Now(), options: o, turn: o.Turn}
	c.x, c.tally, c.outer, c.lastStart, c.late = x, &c.sum, frameOf(ctx), o.LastStart, o.Late
	c.owner, c.execution = x.ownerIn(o.Execution)
	c.now, c.invocation = wall(c.began), x.invocationEnd(ctx)
	c.event.Operation = x.operation
	// Deferred, so that a panic of the handler is observed too.
	var e conclusion
	defer func() {
		for run := c.runs; run != nil; run = run.earlier {
			run.discard()
		}
		c.outer.noteInner(e.err)
		c.report(ctx, e)
	}()
	e = c.dispatch(ctx, key, keyErr)
	return e.err
}

func (c *call) dispatch(ctx context.Context, key Key, keyErr error) conclusion {
	x := c.x
	if keyErr == nil {
		c.identity, keyErr = x.identify(key)
	}
	if keyErr != nil {
		return c.withoutKey(ctx, keyErr)
	}
	c.event.KeyHash = c.hash
	if x.disabled {
		return c.bypass(ctx)
	}
	if c.outer.nests(x.storeID, c.id) {
		// It would wait for itself.
		return conclusion{outcome: OutcomeFailed, err: &NestedCallError{KeyHash: c.hash, Operation: x.operation}}
	}
	if record, ok := x.cache.Get(c.id, c.now.Add(x.config.ClockSkew)); ok {
		c.event.Cached = true
		return c.replay(ctx, record)
	}
	if x.flights != nil {
		return c.join(ctx)
	}
	return c.lead(ctx)
}

// lead runs the call with the store.
func (c *call) lead(ctx context.Context) (e conclusion) {
	if c.x.config.Optimistic {
		e = c.optimistic(ctx)
	}
	if !c.x.config.Optimistic || e.claimFirst {
		e = c.claimed(ctx)
	}
	if c.finished != nil {
		c.x.cache.Put(*c.finished)
	}
	return e
}

// withoutKey ends a call whose key is missing or wrong. Such calls never share
// a record: each is refused, or runs by itself.
func (c *call) withoutKey(ctx context.Context, err error) conclusion {
	// A wrapped one comes from another function, and not from the key function.
	missing, ok := err.(*MissingKeyError)
	if !ok || missing.Part != "id" || c.x.config.OnMissingKey != RunMissingKey {
		return conclusion{outcome: OutcomeFailed, err: bare(err)}
	}
	c.id = unprotectedID()
	if e := c.options.Execution; e != nil {
		// The keys that an execution derives are the same in each invocation.
		c.id = c.x.unprotectedIDIn(e)
	}
	return c.bypass(ctx)
}

// replay returns the contents of a finished record to the caller.
func (c *call) replay(ctx context.Context, record driver.Record) conclusion {
	if record.Fingerprint != "" && c.fingerprint != "" && record.Fingerprint != c.fingerprint {
		return conclusion{outcome: OutcomeMismatch, err: &KeyReusedError{KeyHash: c.hash}}
	}
	c.share(record)
	err := c.decode(ctx, record)
	if _, none := err.(*ResultUnavailableError); none && c.replaysItself(record) {
		// The operations of the finished execution return what they have recorded.
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
		failed := unavailable(c.hash, err)
		failed.Failed = record.Status == driver.Failed
		return failed
	}
	if record.Status == driver.Failed {
		replayed, err := decodeFailure(data)
		if err != nil {
			return &ResultUnavailableError{KeyHash: c.hash, Failed: true, Reason: "the stored error does not decode", Err: err}
		}
		return replayed
	}
	if err := c.work.decode(data); err != nil {
		if none, ok := err.(*unreadable); ok {
			return unavailable(c.hash, none)
		}
		return &ResultUnavailableError{KeyHash: c.hash, Reason: "the stored result does not decode into the caller's type", Err: err}
	}
	return nil
}

// report observes a call. After a panic, its conclusion is empty.
func (c *call) report(ctx context.Context, e conclusion) {
	c.event.Total = time.Since(c.began)
	c.sum.mu.Lock()
	c.event.RoundTrips, c.event.Store = c.sum.roundTrips, c.sum.spent
	switch all := c.sum.suppressed; {
	case len(all) == 0:
		c.event.Err = e.err
	case len(all) == 1 && e.err == nil:
		c.event.Err = all[0]
	default:
		c.event.Err = errors.Join(append([]error{e.err}, all...)...)
	}
	c.sum.mu.Unlock()
	// After a panic of a store or a codec, the outcome is unknown.
	c.event.Outcome = cmp.Or(e.outcome, c.abandoned, OutcomeUnknown)
	if c.turn != nil && c.event.Outcome != OutcomeReplayed {
		c.event.Outcome = OutcomeNotRun // the call is made again, in its turn
	}
	if c.event.Outcome == OutcomeNotRun {
		c.event.Attempt = 0
	}
	if c.cutOff && c.event.Outcome == OutcomeReleased {
		c.event.Outcome = OutcomeTimedOut
	}
	if event, ok := c.options.Event.(*Event); ok {
		*event = c.event
	}
	c.x.config.Observer.Observe(ctx, c.event)
}
