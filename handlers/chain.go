package handlers

import (
	"context"
	"net/http"
	"strings"

	"github.com/lambda-once/once/idempotent"
)

// ChainAttribute is the name under which an [idempotent.ChainKey] travels: as
// a message attribute of SQS and SNS, a header of Kafka and RabbitMQ, a
// property of ActiveMQ, and a member of an EventBridge event's detail. It has
// no '-', which the names of JMS properties cannot have.
const ChainAttribute = "once_key"

// ChainHeader is its name in HTTP, where '_' is often dropped.
const ChainHeader = "Once-Key"

// ChainAttributes gives the attributes of a message that a handler sends,
// with the [idempotent.ChainKey] of that name: one name for each message. On
// the other side [SQS] and the like take it for the message's key, so that
// one that is sent twice has its effects once.
func ChainAttributes(ctx context.Context, name string) map[string]string {
	return map[string]string{ChainAttribute: idempotent.ChainKey(ctx, name)}
}

// SetChainHeaders gives a request that a handler sends the
// [idempotent.ChainKey] of that name, in place of what the two headers had:
// Idempotency-Key, by which any API protects it, and Once-Key, by which one
// with [HTTPOptions].ContinueChains goes on with the chain. A key that has
// characters that headers do not carry safely, or more than the 255 bytes that
// servers take, is replaced by its digest.
func SetChainHeaders(ctx context.Context, h http.Header, name string) {
	key := idempotent.ChainKey(ctx, name)
	if strings.ContainsFunc(key, notBare) || len(key) > safeKeyBytes {
		key = digestOf(key)
	}
	h.Set("Idempotency-Key", `"`+key+`"`) // a string of RFC 8941, as the draft has it
	h.Set(ChainHeader, key)
}

// safeKeyBytes is the default of HTTPOptions.MaxKeyBytes, and Stripe's.
const safeKeyBytes = 255
