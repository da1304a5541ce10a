package idempotent

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// call is one call of Do on its way through the protocol.
type call struct {
	identity
	x     *Executor
	work  work
	began time.Time
	// now is the clock as read at the beginning and after each call to the store.
	now   time.Time
	event Event
	// finished is the record for the cache and for joined calls; nil while there
	// is no result to share.
	finished *driver.Record
	// unacknowledged reports whether a write without a claim may still arrive.
	unacknowledged bool
	// cutOff reports whether the handler, or its undo, failed after its time.
	cutOff bool
	// suppressed is the error that only the observer sees, because the caller
	// receives the result or a more telling error.
	suppressed error
	// turn waits until the handler may run. It is nil without, and once the
	// turn is taken. notRun is why the handler has not run.
	turn   func(context.Context) error
	notRun error
	// lastStart is the time after which the handler does not start, or zero. late
	// is the error of a call that it keeps from starting.
	lastStart time.Time
	late      error
	// execution is the durable execution that owns the claim, or nil.
	execution *options.Execution
	// heart is the heartbeat of the lease, if a handler runs under one.
	heart *heartbeat
	// waited reports that the adapter knows of a wait for a duplicate.
	waited bool
	// runs is the last run of the handler. Each may have an attachment.
	runs *shared
	// abandoned is the outcome of a call whose handler panicked.
	abandoned Outcome
}

// do runs the whole call. keyErr is the error of the key function.
func (x *Executor) do(ctx context.Context, key Key, keyErr error, w work) error {
	o := options.Of(ctx)
	c := call{x: x, work: w, began: time.Now(), turn: o.Turn, execution: x.executionOf(o)}
	c.now, c.lastStart, c.late = c.began, o.LastStart, o.Late
	c.event.Operation = x.operation
	// Deferred, so that a panic of the handler is observed too.
	var e ending
	defer func() {
		for run := c.runs; run != nil; run = run.earlier {
			run.discard()
		}
		outer := insideOf(ctx)
		outer.noteInner(e.err)
		c.report(ctx, e)
	}()
	e = c.dispatch(ctx, key, keyErr)
	return e.err
}

func (c *call) dispatch(ctx context.Context, key Key, keyErr error) ending {
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
	if nestedIn(ctx, x.storeID, c.id) {
		// It would wait for itself.
		return ending{outcome: OutcomeFailed, err: &NestedCallError{KeyHash: c.hash, Operation: x.operation}}
	}
	if record, ok := x.cache.Get(c.id, wall(c.now).Add(x.config.ClockSkew)); ok {
		c.event.Cached = true
		return c.replay(ctx, record)
	}
	if x.flights != nil {
		return c.join(ctx)
	}
	return c.lead(ctx)
}

// lead runs the call with the store.
func (c *call) lead(ctx context.Context) (e ending) {
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
func (c *call) withoutKey(ctx context.Context, err error) ending {
	// A wrapped one comes from another function, and not from the key function.
	missing, ok := err.(*MissingKeyError)
	if !ok || missing.Part != "id" || c.x.config.OnMissingKey != RunMissingKey {
		return ending{outcome: OutcomeFailed, err: bare(err)}
	}
	c.id = unprotectedID()
	if e := options.Of(ctx).Execution; e != nil {
		// The keys that an execution derives are the same in each invocation.
		c.id = c.x.unprotectedIDIn(e)
	}
	return c.bypass(ctx)
}

// bypass runs the handler without the store.
func (c *call) bypass(ctx context.Context) ending {
	began, returned := time.Now(), false
	defer func() {
		c.event.Handler += time.Since(began)
		if !returned {
			c.abandoned = OutcomeBypassed
			c.suppress(errPanicked)
		}
	}()
	in := c.inside(ctx, nil)
	with, err := in.frozen(c.openly(ctx, in, c.inTurn))
	if c.notRun != nil {
		returned = true
		return ending{outcome: OutcomeNotRun, err: c.notRun}
	}
	if with != nil {
		refused, e := c.commitAlone(ctx, in, with)
		if refused == nil {
			// Not the handler's error: it may have been committed all the same.
			returned = true
			return e
		}
		err = rejection(refused)
	}
	if err != nil {
		if c.event.Permanent = in.classify(err).permanent; c.event.Permanent {
			err = c.compensateOpenly(ctx, in, err)
		}
	}
	returned = true
	return ending{outcome: OutcomeBypassed, err: bare(err)}
}

// openly runs a handler or an undo function without a lease.
func (c *call) openly(ctx context.Context, in *inside, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in.steps.open(ctx, cancel)
	defer in.steps.close()
	return fn(c.enter(ctx, in))
}

// replay returns the contents of a finished record to the caller.
func (c *call) replay(ctx context.Context, record driver.Record) ending {
	if record.Fingerprint != "" && c.fingerprint != "" && record.Fingerprint != c.fingerprint {
		return ending{outcome: OutcomeMismatch, err: &KeyReusedError{KeyHash: c.hash}}
	}
	c.share(record)
	err := c.decode(ctx, record)
	if _, none := err.(*ResultUnavailableError); none && c.replaysItself(record) {
		return c.runFinished(ctx)
	}
	return ending{outcome: OutcomeReplayed, err: err}
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

// create, change and get call the store, and count the call and its time.
func (c *call) create(ctx context.Context, r driver.Record, cutoff time.Time, with any) (driver.Record, bool, error) {
	defer c.count()
	return c.x.store.Create(ctx, r, cutoff, with)
}

func (c *call) change(ctx context.Context, f driver.Fence, change driver.Change) (driver.Record, bool, error) {
	defer c.count()
	return c.x.store.Change(ctx, f, change)
}

func (c *call) get(ctx context.Context) (driver.Record, error) {
	defer c.count()
	return c.x.store.Get(ctx, c.id)
}

func (c *call) count() {
	before := c.now
	c.event.RoundTrips++
	c.event.Store += c.look().Sub(before)
}

// look reads the clock.
func (c *call) look() time.Time {
	c.now = time.Now()
	return c.now
}
