package idempotent

import (
	"context"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// readsFirst reports whether Config.ReadFirst or the adapter says so.
func (c *call) readsFirst(ctx context.Context) bool {
	return c.x.config.ReadFirst || options.Of(ctx).ReadFirst
}

// readFirst returns the record that the call decides on first. It reads where
// readsFirst says so, and where no time is left to run: a duplicate needs
// neither a claim nor time for its answer. Otherwise it returns the zero
// Record, which is to be created.
//
// A read that fails decides nothing: the observer receives its error, and the
// call continues as if there were no record. It returns the error only if there
// is no time to continue.
func (c *call) readFirst(ctx context.Context, invocation time.Time) (driver.Record, error) {
	if !c.readsFirst(ctx) && c.hasTime(ctx, invocation) {
		return driver.Record{}, nil
	}
	met, err := c.readInTime(ctx)
	switch {
	case err == nil:
		return met, nil
	case !c.hasTime(ctx, invocation):
		return driver.Record{}, err
	}
	c.suppress(&StoreError{Op: "read", Err: err})
	return driver.Record{}, nil
}

// readInTime leaves at least half of the time to the claim.
func (c *call) readInTime(ctx context.Context) (driver.Record, error) {
	limit := longestAttempt
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(min(limit, time.Until(deadline)/2), shortestAttempt)
	}
	return c.within(ctx, min(limit, c.readTime(ctx), c.startTime(ctx)/2), c.get)
}

// endsOptimistic ends an optimistic call whose record needs no run, or needs a
// claim, as one that met the record in its transaction. It reports false if the
// handler is to run.
func (c *call) endsOptimistic(ctx context.Context, l *lease) (ending, bool) {
	if !c.readsFirst(ctx) {
		return ending{}, false
	}
	met, err := c.readFirst(ctx, l.invocation)
	if err != nil {
		return c.noTime(ctx, err), true
	}
	cfg := &c.x.config
	if protocol.Decide(met, "", c.fingerprint, wall(c.now).Add(-cfg.ClockSkew), cfg.MaxAttempts) == protocol.ClaimAnew {
		return ending{}, false
	}
	return c.yieldTo(ctx, l, met), true
}
