package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/lambda-once/once/idempotent"
)

// HTTPOptions are the policies of the HTTP handlers. The zero value of every
// field stands for its default, and a nil *HTTPOptions for all of them. How
// long answers are kept, and whether a request may come without a key, are
// policies of the Executor: Config.Retention and Config.OnMissingKey.
// Functions are called by many requests at once.
//
// A mistake in the options panics when the handler is made, as
// regexp.MustCompile does: no request could make them valid.
type HTTPOptions struct {
	// ContinueChains goes on with the chain of keys that the header Once-Key
	// of a request names, see [SetChainHeaders]. Only for an API that nobody
	// but functions of one's own can call: whoever chooses the chain chooses
	// the keys of all that follows from it, also those of another caller's
	// messages, which would then count as sent. The key of the request is its
	// Idempotency-Key, within its Scope, all the same. Default false: the
	// header means nothing.
	ContinueChains bool

	// Documentation is the URL of what an API publishes of its keys, their
	// format and the retention above all: the member "type" of the problems.
	// Default "about:blank" (RFC 9457 section 4.2.1).
	Documentation string

	// Header is the field that holds the key. Default "Idempotency-Key".
	Header string

	// Key takes the key from another place than Header, as from the body: the
	// webhook of a payment provider has the id of its event there. [HeaderKey]
	// takes the key from a header as it is, and
	// keypath.Path[HTTPRequest]("body.id") from the body with a JMESPath
	// expression.
	//
	// The ID is the key; its length and ValidKey are checked. The Scope is the
	// adapter's: a Key function that sets Scope or Record fails the request
	// with a [*KeyFieldError]. A Payload, or Fingerprint, is compared in place
	// of the whole request: set it where deliveries of one event differ. An
	// [idempotent.MissingKeyError] means that there is no key; with an
	// InvalidKeyError or InvalidPayloadError the request is refused; any other
	// error is the call's. A [Middleware] reads the body before it calls Key.
	// Default: the key is in Header.
	Key func(HTTPRequest) (idempotent.Key, error)

	// MaxKeyBytes is the length of the longest key, without the quotes.
	// Default 255, as at Stripe; at most 1,024.
	MaxKeyBytes int

	// MaxRequestBytes is the length of the longest body of a protected
	// request that [Middleware] reads; a longer one is answered 413. Default
	// 1 MiB. The other adapters are given bodies that Lambda has limited.
	MaxRequestBytes int64

	// MaxResponseBytes is the length of the longest body of an answer that
	// [Middleware] keeps. Beyond it, the handler's Write fails with a
	// [*ResponseTooLargeError]. Default 256 KiB: in a DynamoDB item of at most
	// 400 KB a body that is not text takes a third more.
	MaxResponseBytes int

	// Methods are those that are protected, and whose requests need a key;
	// requests with others go to the handler as they are, under
	// [idempotent.Unprotected]. Safe methods (RFC 9110 section 9.2.1) have no
	// effect to protect. Default POST and PATCH, as in the IETF draft; and
	// requests with PUT and DELETE that have a key are protected too.
	Methods []string

	// ReplayHeader is the field that marks a stored answer with "true".
	// Default "Idempotent-Replayed", as at Stripe.
	ReplayHeader string

	// Store says which answers are kept, by their status. Any other releases
	// the key, so that a repetition runs the handler again.
	//
	// Default: those below 500, but not those that refuse before any effect
	// or ask to be retried: 400, 401, 403, 408, 409, 422, 425 and 429. Where
	// one of these is not kept, its attempt does not count against
	// Config.MaxAttempts; that of any other answer does. A 502 or 504 that a
	// handler passes on may come after the effect: keep it, or give what is
	// behind it an idempotent.DownstreamKey.
	Store func(status int) bool

	// StoreHeaders are fields that are kept besides Access-Control-Allow-
	// Credentials, -Allow-Origin and -Expose-Headers, Cache-Control,
	// Content-Disposition, -Encoding, -Language, -Location, -Security-Policy
	// and -Type, ETag, Link, Location, Vary and X-Content-Type-Options.
	//
	// The fields of an answer that are not kept are in the first answer
	// alone. Among them are Set-Cookie (the cookies of a format with a list
	// of its own for them), which may open a session, Date and the like,
	// which would be wrong by the time of a replay, and all that is unknown.
	StoreHeaders []string

	// ValidKey refuses a key whose format is not the API's with an error,
	// after the checks that every key passes. The error's text reaches no
	// client and no log. Default: every key is valid.
	ValidKey func(key string) error
}

var (
	keptHeaders = []string{
		"Access-Control-Allow-Credentials", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
		"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location",
		"Content-Security-Policy", "Content-Type", "Etag", "Link", "Location", "Vary", "X-Content-Type-Options",
	}
	// Protected by default: those that need a key, and those that may have one.
	requiredMethods = []string{http.MethodPost, http.MethodPatch}
	optionalMethods = []string{http.MethodPut, http.MethodDelete}

	safeMethods = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}
)

const longestKey = 1024 // of the core

// complete gives the options with their defaults, and field names in the form
// that http.Header has them in.
func (o *HTTPOptions) complete() HTTPOptions {
	var full HTTPOptions
	if o != nil {
		full = *o
	}
	full.check()
	full.Documentation = orDefault(full.Documentation, "about:blank")
	full.Header = http.CanonicalHeaderKey(orDefault(full.Header, "Idempotency-Key"))
	full.MaxKeyBytes = orDefault(full.MaxKeyBytes, 255)
	full.MaxRequestBytes = orDefault(full.MaxRequestBytes, 1<<20)
	full.MaxResponseBytes = orDefault(full.MaxResponseBytes, 256<<10)
	full.ReplayHeader = http.CanonicalHeaderKey(orDefault(full.ReplayHeader, "Idempotent-Replayed"))
	if full.Methods == nil {
		full.Methods = requiredMethods
	}
	full.Methods = slices.Clone(full.Methods)
	if full.Store == nil {
		full.Store = keepsStatus
	}
	kept := slices.Clone(keptHeaders)
	for _, name := range full.StoreHeaders {
		kept = append(kept, http.CanonicalHeaderKey(name))
	}
	full.StoreHeaders = kept
	return full
}

func (o *HTTPOptions) check() {
	if _, err := url.Parse(o.Documentation); err != nil {
		badOption("Documentation", "is not a URL")
	}
	for _, name := range append([]string{orDefault(o.Header, "x"), orDefault(o.ReplayHeader, "x")}, o.StoreHeaders...) {
		if !isToken(name) {
			badOption("Header, ReplayHeader or StoreHeaders", fmt.Sprintf("has %q, which is not a field name", name))
		}
	}
	if o.MaxKeyBytes < 0 || o.MaxKeyBytes > longestKey {
		badOption("MaxKeyBytes", fmt.Sprintf("is not between 0 and %d", longestKey))
	}
	if o.MaxRequestBytes < 0 || o.MaxResponseBytes < 0 {
		badOption("MaxRequestBytes or MaxResponseBytes", "is negative")
	}
	if o.Methods != nil && len(o.Methods) == 0 {
		badOption("Methods", "is empty: nothing would be protected")
	}
	for _, method := range o.Methods {
		// Methods are case-sensitive: "post" would protect nothing.
		if !isToken(method) || method != strings.ToUpper(method) {
			badOption("Methods", fmt.Sprintf("has %q, which is not a method in capitals", method))
		}
		if slices.Contains(safeMethods, method) {
			badOption("Methods", "has the safe method "+method)
		}
	}
}

func badOption(name, what string) { panic("handlers: HTTPOptions." + name + " " + what) }

func orDefault[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// isToken is RFC 9110 section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func keepsStatus(status int) bool { return status < 500 && !refusesUndone(status) }

// refusesUndone reports whether an answer says that nothing was done.
func refusesUndone(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout,
		http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return false
}
