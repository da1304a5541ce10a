package idempotent

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/internal/ids"
	"github.com/lambda-once/once/idempotent/internal/options"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// A Claim describes the call that a handler runs under.
type Claim struct {
	Operation string
	// RecordID and KeyHash are as in an [Event].
	RecordID, KeyHash string
	// Attempt is the number of this claim in the life of the record. Claims
	// that were refunded count too. It is 0 in a run without the store.
	Attempt int64
	// Began is when the first attempt made its claim: this one, or an earlier one that a
	// provider may know. It is the zero time in a run without a claim, and under a claim
	// of an earlier version.
	Began time.Time

	takeover bool
}

// Takeover reports whether an earlier attempt began, was not refunded, and may
// have had any part of its effects.
func (c Claim) Takeover() bool { return c.takeover }

// FromContext returns the claim of the innermost call that ctx belongs to.
func FromContext(ctx context.Context) (Claim, bool) {
	f := frameOf(ctx)
	if f == nil {
		return Claim{}, false
	}
	return f.claim, true
}

// DownstreamKey returns the idempotency key of one request that the handler
// sends to another service.
//
// It prevents a second effect only as long as the service remembers it (Stripe: 24
// hours), and only if each attempt sends an equal request. Set Config.ProviderMemory to
// that time: an attempt that comes later then waits for a person.
//
// The key is derived from the record's id and name alone,
// so it is the same in every attempt, in every process and without the store.
// It is a UUID (version 8, RFC 9562).
//
// A call without a key (see [RunMissingKey]) has keys of its own. They
// change with each attempt, except in a durable execution.
// DownstreamKey panics if the name is empty, and outside of a call of Do, where
// a key would either join unrelated requests or protect nothing. See
// [Unprotected] for tests of a handler by itself.
func DownstreamKey(ctx context.Context, name string) string {
	f := mustAllowEffects(ctx, "DownstreamKey")
	if name == "" {
		panic("idempotent: DownstreamKey: the name is empty")
	}
	return ids.DownstreamID(f.id, f.path, name)
}

// Unprotected returns a context for a handler that no call protects. Every such
// context has its own [DownstreamKey] values. Adapters use it for unprotected
// handlers, and tests for a handler by itself.
func Unprotected(ctx context.Context) context.Context {
	outer := frameOf(ctx)
	f := &frame{id: unprotectedID(), outer: outer, chain: options.Of(ctx).Chain, handlerRun: &handlerRun{}}
	f.steps.mode.Hold = protocol.Bypassed
	if outer != nil {
		f.invocation = outer.invocation
	}
	return options.WithCall(ctx, f)
}

// unprotectedID returns a new id, which no record has.
func unprotectedID() string { return unprotectedPrefix + rand.Text() }

const unprotectedPrefix = "unprotected#"

// ChainKey returns the idempotency key of one message or request to the next
// protected function. Like a [DownstreamKey] it is the same in every attempt,
// but people can read it: root:step:step. The root stands for the record of the
// chain's first call; the rest are the names of the steps and messages on the
// way.
//
// A later function adds its operation to the names, and 64 bits of its record's
// id if its key is not the chain key alone. So two operations that receive one
// message never send with one key.
//
// ChainKey panics outside of a call, and if the name is empty or contains
// control characters.
func ChainKey(ctx context.Context, name string) string {
	f := mustAllowEffects(ctx, "ChainKey")
	if name == "" || checkText("name", name, maxKeyLength, false) != nil {
		panic("idempotent: ChainKey: the name is empty, too long, not UTF-8, or contains control characters")
	}
	var key strings.Builder
	operation := ""
	if chain := f.usableChain(); chain == "" {
		key.WriteString(ids.ChainRoot(f.id))
	} else {
		key.WriteString(chain)
		operation = chainEscaper.Replace(f.claim.Operation) + f.chainBranch(chain) + "#"
	}
	for i, part := range append(f.path[:len(f.path):len(f.path)], name) {
		key.WriteString(":")
		if i == 0 {
			// The only '#' stands before the steps, so that no step of an earlier
			// function looks like one of this.
			key.WriteString(operation)
		}
		chainEscaper.WriteString(&key, part)
	}
	if key.Len() > maxKeyLength {
		return ids.ChainRoot(key.String())
	}
	return key.String()
}

// chainBranch distinguishes the records that one message leads to. It is "" if
// the record's ID is the chain key itself, and in a call without a record: the
// id differs in every attempt.
func (f *frame) chainBranch(chain string) string {
	if f.id == ids.RecordID(f.claim.Operation, "", chain) || strings.HasPrefix(f.id, unprotectedPrefix) {
		return ""
	}
	return "~" + ids.ChainRoot(f.id)[:16]
}

var chainEscaper = strings.NewReplacer(":", "%3A", "%", "%25", "#", "%23", "~", "%7E")

// usableChain returns the chain key that came with a call, in a form that a key can
// begin with.
func (f *frame) usableChain() string {
	if checkText("chain", f.chain, maxKeyLength, false) != nil {
		return ids.ChainRoot(f.chain)
	}
	return f.chain
}
