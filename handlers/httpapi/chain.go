package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/lambda-once/once/handlers/internal/digest"
	"github.com/lambda-once/once/idempotent"
)

// ChainHeader is the header in which an [idempotent.ChainKey] travels: some servers
// drop names with '_', such as handlers.ChainAttribute.
const ChainHeader = "Once-Key"

// SetChainHeaders sets the headers of a request that a handler sends to the
// [idempotent.ChainKey] of that name: Idempotency-Key, by which any API
// protects the request, and Once-Key, by which an API with
// [Options].ContinueChains continues the chain. A key with characters that
// headers do not carry safely, or with more than the 255 bytes that servers
// accept, is replaced by its digest.
func SetChainHeaders(ctx context.Context, h http.Header, name string) {
	key := idempotent.ChainKey(ctx, name)
	if !bare(key) || len(key) > safeKeyBytes {
		key = digest.Of(key)
	}
	h.Set("Idempotency-Key", `"`+key+`"`) // a String of RFC 8941, as in the draft
	h.Set(ChainHeader, key)
}

// safeKeyBytes is the default of Options.MaxKeyBytes, and Stripe's.
const safeKeyBytes = 255

// chain returns the chain key in the headers of a trusted client, or "". A
// header that cannot be read is refused: the handler would begin a chain of its
// own, and a repetition might not.
func (o *Options) chain(headers http.Header) (string, error) {
	values := headers[ChainHeader]
	if !o.ContinueChains || len(values) == 0 {
		return "", nil
	}
	chain := strings.Trim(values[0], " \t")
	if len(values) > 1 || chain == "" || len(chain) > longestKey || !bare(chain) {
		return "", unreadable("the header "+ChainHeader+" is not one chain key", nil)
	}
	return chain, nil
}
