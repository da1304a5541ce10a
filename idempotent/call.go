package idempotent

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// call is one call of Do on its way through the protocol.
type call struct {
	identity
	x     *Executor
	work  work
	began time.Time
	// now is the time when the clock was last looked at: at the beginning,
	// and after each call to the store. A duplicate looks three times.
	now   time.Time
	event Event
	// finished is the record that answered the call, for the cache and for
	// those who joined it; nil while there is no answer that others may have.
	finished *driver.Record
	// unacknowledged says that a write without a claim may still arrive, which
	// writes where there is no record.
	unacknowledged bool
	// cutOff says that the handler, or what undoes it, failed after its time.
	cutOff bool
	// suppressed is for the observer: an error that the caller does not receive,
	// because it has its result or a more telling error.
	suppressed error
	// abandoned is the outcome of a call whose handler panicked.
	abandoned Outcome
}

// do runs the whole call. keyErr is what the key function said.
func (x *Executor) do(ctx context.Context, key Key, keyErr error, w work) error {
	c := call{x: x, work: w, began: time.Now()}
	c.now = c.began
	c.event.Operation = x.operation
	// Deferred, so that a panic of the handler is observed too.
	var e ending
	defer func() {
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
		// Waiting for it would be waiting for ourselves.
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

// lead goes to the store.
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

// withoutKey is for a request whose key is missing or wrong. Such requests
// never share a record: each is refused, or runs by itself.
func (c *call) withoutKey(ctx context.Context, err error) ending {
	// One that is wrapped is another function's, and says nothing of the key.
	missing, ok := err.(*MissingKeyError)
	if !ok || missing.Part != "id" || c.x.config.OnMissingKey != RunMissingKey {
		return ending{outcome: OutcomeFailed, err: bare(err)}
	}
	c.id = unprotectedID()
	return c.bypass(ctx)
}

// bypass runs the handler without the store.
func (c *call) bypass(ctx context.Context) ending {
	began, returned := time.Now(), false
	defer func() {
		c.event.Handler = time.Since(began)
		if !returned {
			c.abandoned = OutcomeBypassed
			c.suppress(errPanicked)
		}
	}()
	in := c.inside(ctx, nil)
	with, err := in.frozen(c.openly(ctx, in, c.work.run))
	if with != nil {
		refused, e := c.commitAlone(ctx, in, with)
		if refused == nil {
			// Not the handler's error: it may have been committed all the same.
			returned = true
			return e
		}
		err = refused.Err
	}
	if err != nil {
		if c.event.Permanent = in.classify(err).permanent; c.event.Permanent {
			err = c.compensateOpenly(ctx, in, err)
		}
	}
	returned = true
	return ending{outcome: OutcomeBypassed, err: bare(err)}
}

// openly runs a handler, or what undoes it, without a lease.
func (c *call) openly(ctx context.Context, in *inside, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in.steps.open(ctx, cancel)
	defer in.steps.close()
	return fn(c.enter(ctx, in))
}

// replay returns to the caller what a finished record contains.
func (c *call) replay(ctx context.Context, record driver.Record) ending {
	if record.Fingerprint != "" && c.fingerprint != "" && record.Fingerprint != c.fingerprint {
		return ending{outcome: OutcomeMismatch, err: &KeyReusedError{KeyHash: c.hash}}
	}
	c.share(record)
	return ending{outcome: OutcomeReplayed, err: c.decode(ctx, record)}
}

// share keeps a finished record for those who may use it.
func (c *call) share(record driver.Record) {
	if c.x.cache != nil || c.x.flights != nil {
		kept := record
		c.finished = &kept
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
		return &ResultUnavailableError{KeyHash: c.hash, Reason: "the stored result does not decode into the type asked for", Err: err}
	}
	return nil
}

// The calls to the store, counted from when the clock was last looked at.

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

// look looks at the clock.
func (c *call) look() time.Time {
	c.now = time.Now()
	return c.now
}
