package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/handlers/internal/panics"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// Options are the options of the HTTP handlers. The zero value of every
// field stands for its default, and a nil *Options for all of them. How long
// responses are stored, and whether a request may come without a key, are
// options of the Executor: Config.Retention and Config.OnMissingKey. Functions
// are called by many requests at once.
//
// If options are wrong, the functions of this package panic with a
// [*driver.ConfigError] that lists all mistakes.
type Options struct {
	// ContinueChains continues the chain of keys that the header Once-Key of a
	// request names, see [SetChainHeaders]. Enable it only for an API that no
	// one but your own functions can call: a client that chooses the chain
	// chooses the keys of all that follows from it, and can choose those of
	// another caller's messages, which would then count as sent. The key of the
	// request is its Idempotency-Key, within its Scope, all the same. Default
	// false: the header is ignored.
	ContinueChains bool

	// Documentation is the URL of the page on which an API publishes the format
	// and the retention of its keys: the member "type" of the problems. The type of
	// the 410 for a key that is too old is the section #key-expired of that page.
	// Default "about:blank" (RFC 9457 section 4.2.1).
	Documentation string

	// Header is the field that contains the key, unless Key is set. Default
	// "Idempotency-Key".
	Header string

	// Issued returns when the key in Header was made, or the zero time if the key does not
	// say so: see Key.Issued, which a function Key sets itself. [idempotent.IssuedIn] reads
	// UUIDs of version 7 and ULIDs; to require them, refuse others in ValidKey. With
	// Config.RefuseLate, a request with an older key is refused with 410 if its record may
	// be gone. The client chooses the key, and so the time. Default: no key is too old.
	Issued func(key string) time.Time

	// Key returns the key of a request from a place that is not Header, such as
	// the body: the webhook of a payment provider contains the id of its event.
	// Use [HeaderKey] for a header that is the key verbatim, and
	// keypath.Path[Request]("body.id") for a JMESPath expression.
	//
	// The ID is the key; its length and ValidKey are checked. The Scope is the
	// adapter's: a function that sets Scope or Record fails the request with a
	// [*KeyFieldError]. A Payload or Fingerprint is compared instead of the
	// whole request: set it if deliveries of one event differ. Issued is when the
	// key was made, for Config.RefuseLate.
	//
	// An [idempotent.MissingKeyError] means that there is no key. An
	// InvalidKeyError or InvalidPayloadError refuses the request. Any other
	// error is the call's. A [Middleware] reads the body before it calls Key.
	// Default: the key is in Header.
	Key func(Request) (idempotent.Key, error)

	// MaxKeyBytes is the length of the longest key, without the quotes, at most
	// 1,024. Default 255, as at Stripe.
	MaxKeyBytes int

	// MaxRequestBytes is the length of the longest body of a protected request
	// that [Middleware] reads. It refuses a longer one with 413. Lambda limits
	// the bodies of the other adapters. Default 1 MiB.
	MaxRequestBytes int64

	// MaxResponseBytes is the length of the longest response body that
	// [Middleware] stores. Beyond it, the handler's Write returns a
	// [*ResponseTooLargeError]. A body that is not text takes a third more in a
	// DynamoDB item, which has at most 400 KB. Default 256 KiB.
	MaxResponseBytes int

	// Methods are the methods that are protected, and whose requests need a
	// key. Requests with other methods go to the handler unchanged, under
	// [idempotent.Unprotected]. Safe methods (RFC 9110 section 9.2.1) have no
	// effect to protect. Default POST and PATCH, as in the IETF draft; requests
	// with PUT and DELETE are then protected if they have a key.
	Methods []string

	// Resume chooses the stored parts of a request under Config.Resume, which requires it.
	// Default none.
	Resume *ResumeOptions

	// Store reports whether a response with this status is stored. Any other
	// response releases the key, so that a repetition runs the handler again.
	//
	// Default: every status below 500, except those that refuse a request before
	// any effect or ask for a retry: 400, 401, 403, 408, 409, 422, 425 and 429.
	// If one of these is not stored, its attempt does not count against
	// Config.MaxAttempts; every other attempt does. A 502 or 504 that a handler
	// passes on may come after the effect: store it, or send an
	// idempotent.DownstreamKey to the service behind it.
	Store func(status int) bool

	// StoreHeaders are fields that are stored in addition to those of content,
	// caching and CORS, ETag, Link and Location. Default none.
	//
	// Stored in any case are Access-Control-Allow-Credentials, -Allow-Origin
	// and -Expose-Headers, Cache-Control, Content-Disposition, -Encoding,
	// -Language, -Location, -Security-Policy and -Type, ETag, Link, Location,
	// Vary and X-Content-Type-Options.
	//
	// Only the first response contains all other fields. Among them are
	// Set-Cookie, which may open a session, Date and fields that would be wrong
	// in a replay, and all unknown ones.
	StoreHeaders []string

	// ValidKey returns an error for a key that does not have the API's format,
	// after the checks that apply to every key. No client and no log receives
	// the error's text. Default: every key is valid.
	ValidKey func(key string) error
}

var (
	storedHeaders = []string{
		"Access-Control-Allow-Credentials", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
		"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location",
		"Content-Security-Policy", "Content-Type", "Etag", "Link", "Location", "Vary", "X-Content-Type-Options",
	}
	// Protected by default: methods that need a key, and methods that may have one.
	requiredMethods = []string{http.MethodPost, http.MethodPatch}
	optionalMethods = []string{http.MethodPut, http.MethodDelete}

	safeMethods = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}
)

// complete returns the options with their defaults, and field names in the form
// of http.Header.
func (o *Options) complete() Options {
	var full Options
	if o != nil {
		full = *o
	}
	full.Documentation = cmp.Or(full.Documentation, noType)
	full.Header = http.CanonicalHeaderKey(cmp.Or(full.Header, "Idempotency-Key"))
	full.MaxKeyBytes = cmp.Or(full.MaxKeyBytes, 255)
	full.MaxRequestBytes = cmp.Or(full.MaxRequestBytes, 1<<20)
	full.MaxResponseBytes = cmp.Or(full.MaxResponseBytes, 256<<10)
	if full.Methods == nil {
		full.Methods = requiredMethods
	}
	full.Methods = slices.Clone(full.Methods)
	if full.Store == nil {
		full.Store = storesStatus
	}
	full.Resume = full.resume()
	stored := slices.Clone(storedHeaders)
	for _, name := range full.StoreHeaders {
		stored = append(stored, http.CanonicalHeaderKey(name))
	}
	full.StoreHeaders = stored
	return full
}

func (o *Options) check(mistakes *driver.Mistakes) {
	if o == nil {
		return
	}
	_, err := url.Parse(o.Documentation)
	mistakes.If(err != nil, "httpapi: Options.Documentation is not a URL")
	fieldName := func(option, name string) {
		mistakes.If(!isFieldName(name), "httpapi: Options.%s has %q, which is not a field name", option, name)
	}
	fieldName("Header", cmp.Or(o.Header, "x"))
	mistakes.If(o.Header != "" && o.Key != nil, "httpapi: Options.Header has no effect beside Options.Key: set one of them")
	for _, name := range o.StoreHeaders {
		fieldName("StoreHeaders", name)
	}
	mistakes.If(o.Issued != nil && o.Key != nil, "httpapi: Options.Issued has no effect beside Options.Key: set Key.Issued there")
	mistakes.If(o.MaxKeyBytes < 0 || o.MaxKeyBytes > longestKey, "httpapi: Options.MaxKeyBytes is %d; it must be from 0 to %d", o.MaxKeyBytes, longestKey)
	mistakes.If(o.MaxRequestBytes < 0, "httpapi: Options.MaxRequestBytes is %d; it must not be negative", o.MaxRequestBytes)
	mistakes.If(o.MaxResponseBytes < 0, "httpapi: Options.MaxResponseBytes is %d; it must not be negative", o.MaxResponseBytes)
	mistakes.If(o.Methods != nil && len(o.Methods) == 0, "httpapi: Options.Methods is empty: nothing would be protected")
	for _, method := range o.Methods {
		// Methods are case-sensitive: "post" would protect nothing.
		mistakes.If(!isFieldName(method) || method != strings.ToUpper(method), "httpapi: Options.Methods has %q, which is not a method in capitals", method)
		mistakes.If(slices.Contains(safeMethods, method), "httpapi: Options.Methods has the safe method %s", method)
	}
}

func storesStatus(status int) bool { return status < 500 && !refusesRequest(status) }

// refusesRequest reports whether a response says that the request had no effect.
func refusesRequest(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout,
		http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return false
}

// stores calls the option Store. If it panics, the response is stored: the work
// is done, and must not run again.
func (g *guard) stores(status int) (stored bool) {
	stored = true
	panics.Ignore(func() { stored = g.options.Store(status) })
	return stored
}
