package idempotent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

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

// ChainKey derives the idempotency key of one message or request to another
// function that is protected too. Like [DownstreamKey] it is the same in every
// attempt; unlike it, it can be read: root:step:step, where root stands for
// the record of the chain's first call, and the rest are the names of the
// steps and messages on the way. A later function adds its operation to the
// names (and 64 bits of its record, if its key is not the chain key alone), so
// that two operations that get one message never send with one key.
//
// It panics outside of a call, and with a name that is empty or has control
// characters.
func ChainKey(ctx context.Context, name string) string {
	in := insideOf(ctx)
	if in == nil {
		panic("idempotent: ChainKey: the context is not one that Do or a wrapped handler was called with")
	}
	if name == "" || checkText("name", name, maxKeyLength, false) != nil {
		panic("idempotent: ChainKey: the name is empty, or no text without control characters")
	}
	in.mustAllowEffects("ChainKey")
	var key strings.Builder
	operation := ""
	if in.chain == "" {
		key.WriteString(chainRoot(in.id))
	} else {
		key.WriteString(in.chain)
		operation = chainEscaper.Replace(in.claim.Operation) + in.chainBranch() + "#"
	}
	for i, part := range append(in.path[:len(in.path):len(in.path)], name) {
		key.WriteString(":")
		if i == 0 {
			// Before the steps, and the only '#', so that no step of an earlier
			// function can pass for one of this.
			key.WriteString(operation)
		}
		chainEscaper.WriteString(&key, part)
	}
	if key.Len() > maxKeyLength {
		return chainRoot(key.String())
	}
	return key.String()
}

// chainBranch tells the records apart that one message leads to: "" for the one
// whose ID is the chain key itself, and for a call without a record, whose id is
// another in every attempt.
func (in *inside) chainBranch() string {
	if in.id == recordID(in.claim.Operation, "", in.chain) || strings.HasPrefix(in.id, unprotectedPrefix) {
		return ""
	}
	return "~" + chainRoot(in.id)[:16]
}

var chainEscaper = strings.NewReplacer(":", "%3A", "%", "%25", "#", "%23", "~", "%7E")

// chainRoot stands for something long in 128 bits.
func chainRoot(of string) string {
	sum := sha256.Sum256(appendPreimage(nil, of))
	return hex.EncodeToString(sum[:16])
}

// chainOf returns the chain key that came with a call, in a form that a key can
// begin with.
func chainOf(ctx context.Context) string {
	chain := options.Of(ctx).Chain
	if checkText("chain", chain, maxKeyLength, false) != nil {
		return chainRoot(chain)
	}
	return chain
}
