package idempotent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/lambda-once/once/idempotent/internal/options"
)

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
