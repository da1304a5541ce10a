package idempotent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// inside is the value of a handler's context.
type inside struct {
	claim      Claim
	id         string
	storeID    any
	claims     bool      // by its lease, be it unconfirmed
	repeats    bool      // an execution's handler, which each of its invocations runs
	invocation time.Time // end of the outermost call's invocation, or zero
	outer      *inside

	// path is the names of the steps that ctx is inside of.
	path  []string
	chain string // that came with the request
	// waiting tells the adapter that the call, or one within, waits; or nil.
	waiting func()

	*shared
}

// shared is common to the contexts of one call: the handler's and those of its
// steps.
type shared struct {
	transactional driver.Transactional // nil: nothing can be attached
	optimistic    bool
	steps         steps

	mu       sync.Mutex
	attached driver.Attachment
	returned bool    // the handler has
	earlier  *shared // run of the same call
	// attaching tells the adapter that the handler opens a transaction; or nil.
	attaching func()
	// innerErrors are classified errors that calls within returned.
	innerErrors []error
}

// mustAllowEffects panics in an optimistic call, which may run in vain.
func (in *inside) mustAllowEffects(helper string) {
	if in.optimistic {
		panic("idempotent: " + helper + ": under Config.Optimistic a handler has no effects but its transaction, " +
			"because a call that loses to another runs too; unset it for this handler")
	}
}

// inside returns the value for the contexts of this call; l is nil in a run
// without the store.
func (c *call) inside(ctx context.Context, l *lease) *inside {
	outer := insideOf(ctx)
	in := &inside{
		claim:      Claim{Operation: c.x.operation, KeyHash: c.hash},
		id:         c.id,
		storeID:    c.x.storeID,
		claims:     l != nil,
		repeats:    c.repeats(),
		invocation: c.x.invocationEnd(ctx),
		outer:      outer,
		chain:      chainOf(ctx),
		waiting:    options.Of(ctx).Waiting,
		shared:     &shared{transactional: c.x.transactional, optimistic: c.x.config.Optimistic, attaching: options.Of(ctx).Attaching},
	}
	in.steps.x, in.steps.identity, in.steps.repeats = c.x, c.identity, in.repeats
	in.earlier, c.runs = c.runs, in.shared
	if l != nil {
		in.claim.Attempt, in.claim.takeover = l.record.Attempt, l.record.Used() > 1
		in.invocation = l.invocation // ctx ends earlier, by the Reserve
		if !l.unconfirmed {
			in.steps.claimed, in.steps.stored, in.steps.invocation = true, l.record.Steps, l.invocation
			in.steps.known = maps.Clone(l.record.Steps)
			in.steps.roomLock = make(chan struct{}, 1)
			in.steps.setOwner(l.record)
		}
	}
	return in
}

// enter returns the context of a handler. What an adapter says about this call
// does not hold for the calls within.
func (c *call) enter(ctx context.Context, in *inside) context.Context {
	return options.Without(driver.WithSibling(driver.WithCall(ctx, in), nil))
}

// nestedIn reports whether ctx is inside of a call on the same record.
func nestedIn(ctx context.Context, storeID any, id string) bool {
	in := insideOf(ctx)
	for ; in != nil; in = in.outer {
		if in.id == id && in.storeID == storeID && in.claims {
			return true
		}
	}
	return false
}

// Attach returns the attachment of the call for driver.Attach, and creates it
// at the first use.
func (in *inside) Attach(create func() driver.Attachment) driver.Attachment {
	switch {
	case in.repeats:
		panic("idempotent: a transaction in a durable function itself, which runs again after each suspension: " + inADurableStep)
	case in.steps.x == nil:
		panic("idempotent: a transaction in a call that nothing protects (idempotent.Unprotected): nothing would commit it; " + inATest)
	case in.transactional == nil:
		panic(fmt.Sprintf("idempotent: a transaction in a call whose store, a %T, has none: nothing would commit it; use a dynamo.Store or a postgres.Store; %s", in.steps.x.store, inATest))
	}
	if len(in.path) > 0 {
		panic("idempotent: a transaction within a step, which the attempt that commits may not run again: use it outside of steps")
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.returned {
		panic("idempotent: a transaction after the handler has returned: nothing would commit it")
	}
	if in.attached == nil {
		if in.attaching != nil {
			in.attaching()
		}
		in.attached = create()
	}
	return in.attached
}

// Store returns the store that commits the attachment of the call, or nil.
func (in *inside) Store() driver.Transactional { return in.transactional }

// Attached returns the attachments of the call and of the calls around it.
func (in *inside) Attached() (all []driver.Attachment) {
	for ; in != nil; in = in.outer {
		in.mu.Lock()
		if in.attached != nil {
			all = append(all, in.attached)
		}
		in.mu.Unlock()
	}
	return all
}

// exclusive returns why a step could not be stored beside the attachments, or "".
func (in *inside) exclusive() string {
	for _, a := range in.Attached() {
		if e, ok := a.(driver.Exclusive); ok && e.Exclusive() != "" {
			return e.Exclusive()
		}
	}
	return ""
}

// InvocationEnd returns the end of the outermost call's invocation, or zero.
func (in *inside) InvocationEnd() time.Time { return in.invocation }

const inADurableStep = "within a durable step, call Do with the context of handlers.DurableStep"

// inATest advises authors of tests that meet a panic of Attach.
const inATest = "in a unit test, call the handler through Do or Wrap with a dynamo.Store or a postgres.Store on a local server, which dynamodblocal.NewTable and postgreslocal.NewDatabase provide"

// frozen freezes the attachment after the handler has returned, with or without
// an error. It returns nil if there is nothing to commit.
func (in *inside) frozen(failed error) (with driver.Attachment, err error) {
	if failed == nil {
		failed = in.steps.misuse()
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.returned = true
	if in.attached == nil {
		return nil, failed
	}
	// Also after an error: an undo function must not add to the attachment.
	empty, err := in.attached.Freeze()
	if err = cmp.Or(failed, err); err != nil || empty {
		in.discardLocked()
		return nil, err
	}
	return in.attached, nil
}

// discard frees what an attachment holds that is not going to be committed, or that
// was.
func (s *shared) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discardLocked()
}

func (s *shared) discardLocked() {
	if d, ok := s.attached.(driver.Discarder); ok {
		d.Discard()
	}
}

// insideOf returns the value of the innermost call that ctx belongs to, or nil.
func insideOf(ctx context.Context) *inside {
	in, _ := driver.CallOf(ctx).(*inside)
	return in
}
