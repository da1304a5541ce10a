package idempotent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/options"
)

// Claim is what a handler can learn of the call that it runs under.
type Claim struct {
	Operation string
	// KeyHash is the hash of the key, as in the record's id; "" if the call
	// has no key.
	KeyHash string
	// Attempt is the number of the claim: it increases with each, also after
	// one that was given back, within the life of the record. 0 in a run
	// without the store.
	Attempt int64

	takeover bool
}

// Takeover reports whether an earlier attempt has begun, was not given back,
// and may have had any part of its effects.
func (c Claim) Takeover() bool { return c.takeover }

// FromContext gives the claim of the innermost call of Do, or wrapped handler,
// that ctx belongs to.
func FromContext(ctx context.Context) (Claim, bool) {
	in := insideOf(ctx)
	if in == nil {
		return Claim{}, false
	}
	return in.claim, true
}

// DownstreamKey derives an idempotency key for one call that the handler makes
// to another service. It comes from the record's id and name alone: it is the
// same in every attempt, process, release and bypass, so the other service
// sees one request whatever happens here. It is a UUID (version 8, RFC 9562).
//
// A call without a key (see [RunMissingKey]) has keys of its own that no other
// call has. DownstreamKey panics with an empty name, and outside of a call of
// Do: any key it could give there would either join unrelated requests or
// protect nothing. See [Unprotected] for tests of a handler by itself.
func DownstreamKey(ctx context.Context, name string) string {
	in := insideOf(ctx)
	if in == nil {
		panic("idempotent: DownstreamKey: the context is not one that Do or a wrapped handler was called with")
	}
	if name == "" {
		panic("idempotent: DownstreamKey: the name is empty")
	}
	in.mustAllowEffects("DownstreamKey")
	base := appendPreimage(nil, in.id)
	base = appendPreimage(base, in.path...)
	sum := sha256.Sum256(appendPreimage(base, name))
	b := sum[:16]
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Unprotected gives the context of a handler that no call protects, as an
// adapter passes it to one that may ask for a [DownstreamKey]: every such
// context has keys of its own. It is also for tests that call such a handler
// by itself.
func Unprotected(ctx context.Context) context.Context {
	outer := insideOf(ctx)
	in := &inside{id: unprotectedID(), outer: outer, chain: chainOf(ctx), shared: &shared{}}
	if outer != nil {
		in.invocation = outer.invocation
	}
	return driver.WithCall(ctx, in)
}

// unprotectedID is an id that no record has, and no other call.
func unprotectedID() string { return unprotectedPrefix + rand.Text() }

const unprotectedPrefix = "unprotected#"

// inside is what a handler's context carries.
type inside struct {
	claim      Claim
	id         string
	storeID    any
	claims     bool      // by its lease, be it unconfirmed
	invocation time.Time // end of the outermost call's invocation, or zero
	outer      *inside

	// path holds the names of the steps that ctx is inside of.
	path  []string
	chain string // that came with the request

	*shared
}

// shared is what the contexts of one call have together: the handler's and
// those of its steps.
type shared struct {
	transactional driver.Transactional // nil: nothing can be attached
	optimistic    bool
	steps         steps

	mu       sync.Mutex
	attached driver.Attachment
	returned bool // the handler has
	// innerErrors are classified errors that calls within returned.
	innerErrors []error
}

// mustAllowEffects panics in a call that may run for nothing.
func (in *inside) mustAllowEffects(helper string) {
	if in.optimistic {
		panic("idempotent: " + helper + ": under Config.Optimistic a handler has no effects but its transaction: " +
			"a call that loses to another runs all the same; unset it for this one")
	}
}

// inside returns what the contexts of this call carry; l is nil in a run without
// the store.
func (c *call) inside(ctx context.Context, l *lease) *inside {
	outer := insideOf(ctx)
	in := &inside{
		claim:      Claim{Operation: c.x.operation, KeyHash: c.hash},
		id:         c.id,
		storeID:    c.x.storeID,
		claims:     l != nil,
		invocation: c.x.invocationEnd(ctx),
		outer:      outer,
		chain:      chainOf(ctx),
		shared:     &shared{transactional: c.x.transactional, optimistic: c.x.config.Optimistic},
	}
	in.steps.x, in.steps.identity = c.x, c.identity
	if l != nil {
		in.claim.Attempt, in.claim.takeover = l.record.Attempt, l.record.Used() > 1
		in.invocation = l.invocation // ctx ends earlier, by the Reserve
		if !l.unconfirmed {
			in.steps.keeps, in.steps.stored, in.steps.invocation = true, l.record.Steps, l.invocation
			in.steps.known = maps.Clone(l.record.Steps)
			in.steps.roomLock = make(chan struct{}, 1)
			in.steps.handOver(l.record)
		}
	}
	return in
}

// enter returns the context of a handler.
func (c *call) enter(ctx context.Context, in *inside) context.Context {
	return options.Without(driver.WithCall(ctx, in))
}

// nestedIn reports whether ctx is inside of a call on this very record.
func nestedIn(ctx context.Context, storeID any, id string) bool {
	in := insideOf(ctx)
	for ; in != nil; in = in.outer {
		if in.id == id && in.storeID == storeID && in.claims {
			return true
		}
	}
	return false
}
