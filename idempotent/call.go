package idempotent

import (
	"cmp"
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/internal/bounds"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// do runs the whole call. keyErr is the error of the key function.
func (x *Executor) do(ctx context.Context, key Key, keyErr error, w work) error {
	o := options.Of(ctx)
	c := &call{work: w, began: time.Now(), options: o, turn: o.Turn}
	c.x, c.tally, c.outer, c.now = x, &c.sum, frameOf(ctx), wall(c.began)
	c.Bounds = bounds.Bounds{
		Reserve: x.config.Reserve, Nested: c.outer != nil,
		Invocation: x.invocationEnd(ctx, c.outer), LastStart: o.LastStart, TimeUp: o.TimeUp,
	}
	if o.Sibling != nil {
		own := *o
		own.Waited = c.sum.wait
		ctx = options.With(ctx, &own)
	}
	switch e := o.Execution; {
	case e == nil: // the call owns its claim
	case e.Decide != nil:
		c.mode.Holder, c.execution = protocol.Execution, e
	case x.config.MaxAttempts == 0 && x.config.ProviderMemory == 0:
		// A step that enters its claim again runs again, so with a limit of attempts
		// its calls have claims of their own, which count.
		c.mode.Holder, c.execution = protocol.ExecutionStep, e
	}
	// The owner of an execution's record is the same in each invocation. A run that knows
	// none of the stored steps could finish it, and the service repeats the step anyway.
	c.FailOpen = x.config.OnStoreError == FailOpen && !c.mode.IsDurable()
	c.readsFirst = x.config.ReadFirst || o.ReadFirst
	// Deferred, so that a panic of the handler is observed too.
	var e conclusion
	defer func() {
		for run := c.runs; run != nil; run = run.earlier {
			run.discard()
		}
		if e.err != nil {
			c.outer.noteInner(e.err)
		}
		c.report(ctx, e)
	}()
	e = c.dispatch(ctx, key, keyErr)
	return e.err
}

// invocationEnd returns the deadline of the Lambda invocation that ctx belongs
// to, or the zero time. Within a handler of ours it is the deadline of the
// outermost call: the handler's own context ends earlier, and the process does
// not.
func (x *Executor) invocationEnd(ctx context.Context, outer *frame) time.Time {
	if outer != nil && !outer.invocation.IsZero() {
		return outer.invocation
	}
	deadline, ok := ctx.Deadline()
	if !ok || !x.onLambda {
		return time.Time{}
	}
	return wall(deadline)
}

func (c *call) dispatch(ctx context.Context, key Key, keyErr error) conclusion {
	x := c.x
	if keyErr == nil {
		c.identity, keyErr = x.identify(key)
	}
	if c.options.Resumed != nil && c.resumed().ID != c.id {
		return conclusion{outcome: OutcomeNotRun, err: &ResumeError{Reason: "the key of its request is another one today", Err: keyErr}}
	}
	if keyErr != nil {
		return c.withoutKey(ctx, keyErr)
	}
	if x.disabled {
		return c.bypass(ctx)
	}
	if c.outer.nests(x.storeID, c.id) {
		// It would wait for itself.
		return conclusion{outcome: OutcomeFailed, err: &NestedCallError{RecordID: c.shown, Operation: x.operation}}
	}
	// With the skew, a record that has expired by any clock is not replayed.
	if record, ok := x.cache.Get(c.id, c.now.Add(x.config.ClockSkew)); ok {
		c.cached = true
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
		c.x.cache.Put(c.finished.ID, *c.finished, weight(*c.finished), c.finished.Expires)
	}
	return e
}

// withoutKey ends a call whose key is missing or wrong. Such calls never share
// a record: each is refused, or runs by itself.
func (c *call) withoutKey(ctx context.Context, err error) conclusion {
	// A wrapped one does not come from the key function.
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

// report observes a call. After a panic, its conclusion is empty.
func (c *call) report(ctx context.Context, e conclusion) {
	event := Event{
		Operation: c.x.operation, RecordID: c.shown, KeyHash: c.hash, Attempt: c.attempt,
		// After a panic of a store or a codec, the outcome is unknown.
		Outcome: cmp.Or(e.outcome, c.abandoned, OutcomeUnknown),
		Lapsed:  c.lapsed, Joined: c.joined, Cached: c.cached, Permanent: c.permanent,
		Total: time.Since(c.began), Handler: c.handlerTime, Err: e.err,
	}
	c.sum.mu.Lock()
	event.RoundTrips, event.Store = c.sum.roundTrips, c.sum.spent-c.sum.waited
	event.Total = max(event.Total-c.sum.waited, c.handlerTime) // extensions wait beside the handler
	switch all := c.sum.suppressed; {
	case len(all) == 1 && e.err == nil:
		event.Err = all[0]
	case len(all) > 0:
		event.Err = joined(append([]error{e.err}, all...)...)
	}
	c.sum.mu.Unlock()
	if c.turn != nil && event.Outcome != OutcomeReplayed {
		event.Outcome = OutcomeNotRun // the call is made again, in its turn
	}
	if event.Outcome == OutcomeNotRun {
		event.Attempt = 0
	}
	if c.cutOff && event.Outcome == OutcomeReleased {
		event.Outcome = OutcomeTimedOut
	}
	if c.repeated && event.Outcome == OutcomeReplayed {
		event.Outcome = OutcomeRepeated
	}
	if told, ok := c.options.Event.(*Event); ok {
		*told = event
	}
	c.x.config.Observer.Observe(ctx, event)
}
