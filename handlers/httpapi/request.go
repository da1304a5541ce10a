package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// Request is the request that [Options].Key receives. The function must
// not change its contents.
//
// In a keypath.Path it has the members method, path, query, headers and
// body, as in "body.id" and "headers.\"X-Event-Id\"[0]". The body is a JSON
// value, a string if it is text but not JSON, or null.
type Request struct {
	Method  string
	Path    string              // as it was sent
	Query   map[string][]string // without escapes
	Headers http.Header         // of the client, who may send anything
	Body    []byte
}

// MarshalJSON returns the form to which a keypath.Path applies.
func (r Request) MarshalJSON() ([]byte, error) {
	var body any
	switch {
	case json.Valid(r.Body):
		body = json.RawMessage(r.Body)
	case utf8.Valid(r.Body) && len(r.Body) > 0:
		body = string(r.Body)
	}
	return json.Marshal(struct {
		Method  string              `json:"method"`
		Path    string              `json:"path"`
		Query   map[string][]string `json:"query"`
		Headers http.Header         `json:"headers"`
		Body    any                 `json:"body"`
	}{r.Method, r.Path, r.Query, r.Headers, body})
}

// Caller describes the caller of a request. Fields that an adapter does
// not support are empty.
type Caller struct {
	// Claims are the claims of a JWT that API Gateway has verified:
	// authorizer.jwt.claims of an HTTP API, authorizer.claims (Cognito) of a
	// REST API.
	Claims map[string]any
	// Authorizer is the context that a Lambda authorizer returned: authorizer
	// .lambda of an HTTP API, authorizer of a REST API. Numbers are float64s.
	Authorizer map[string]any
	// UserARN is the user whose signature IAM has verified.
	UserARN string
	// CognitoIdentityID is the caller's id in an identity pool.
	CognitoIdentityID string
	// APIKeyID is the id, not the secret, of a REST API's key.
	APIKeyID string
	// Headers are the client's, and prove nothing by themselves: the
	// x-amzn-oidc-data of a load balancer is a JWT whose signature must be
	// verified. Names are canonical, as in http.Header.
	Headers http.Header
}

// HeaderKey returns a function for [Options].Key that uses a header such as
// X-GitHub-Delivery as the key, verbatim. It refuses a request with two such
// headers. Name a header in the form of an Idempotency-Key in Options.Header
// instead.
func HeaderKey(name string) func(Request) (idempotent.Key, error) {
	var mistakes driver.Mistakes
	mistakes.If(!isFieldName(name), "httpapi: HeaderKey: %q is not a field name", name)
	mistakes.Panic()
	name = http.CanonicalHeaderKey(name)
	return func(r Request) (idempotent.Key, error) {
		values := r.Headers[name]
		if len(values) > 1 {
			return idempotent.Key{}, invalidKey("is given more than once")
		}
		if len(values) == 0 || strings.Trim(values[0], " \t") == "" {
			return idempotent.Key{}, &idempotent.MissingKeyError{Part: "id", At: "the header " + name}
		}
		return idempotent.Key{ID: strings.Trim(values[0], " \t")}, nil
	}
}

// ErrKeyField matches errors of type [*KeyFieldError].
var ErrKeyField = errors.New("httpapi: Options.Key has set Key.Scope or Key.Record")

// KeyFieldError reports that an [Options].Key function has set a field of
// the key that it must not set. The handler did not run. The owner of a key is
// the Scope of the adapter.
type KeyFieldError struct{ Field string } // "Scope" or "Record"

func (e *KeyFieldError) Error() string {
	return "httpapi: Options.Key has set Key." + e.Field + "; name the owner of a key with the Scope of the adapter"
}

// SafeText returns the whole text.
func (e *KeyFieldError) SafeText() string { return e.Error() }

// Is reports whether target is ErrKeyField.
func (e *KeyFieldError) Is(target error) bool { return target == ErrKeyField }

// RequestTooLargeError reports that the body of a request has more than
// Options.MaxRequestBytes. The handler did not run, and the client receives
// 413.
type RequestTooLargeError struct{ Limit int64 } // in bytes

func (e *RequestTooLargeError) Error() string {
	return fmt.Sprintf("httpapi: the request body has more than %d bytes", e.Limit)
}

// SafeText returns the whole text.
func (e *RequestTooLargeError) SafeText() string { return e.Error() }

// Refusal returns [idempotent.RefusalTooLarge].
func (e *RequestTooLargeError) Refusal() idempotent.Refusal { return idempotent.RefusalTooLarge }

// Unwrap returns an [*http.MaxBytesError].
func (e *RequestTooLargeError) Unwrap() error { return &http.MaxBytesError{Limit: e.Limit} }

// incoming is a request that is being served.
type incoming struct {
	Method  string
	Path    string // as it was sent
	Query   []parameter
	Headers http.Header
	Body    []byte

	caller   Caller
	native   *http.Request // of Middleware alone
	rawQuery string
	sent     sent
	resumes  *storedRequest // from which it comes, or nil
	// err is why the request cannot be read. It is treated like any other
	// refusal, so that observers receive it.
	err   error
	found *foundKey // by keyOf
}

type foundKey struct {
	key idempotent.Key
	err error
}

func unreadable(reason string, err error) error {
	return &idempotent.InvalidPayloadError{Offset: -1, Reason: reason, Err: err}
}

// keyOf returns the key of a request, without its scope and, in most cases, its
// fingerprint. It reads the key once.
func (o *Options) keyOf(r *incoming) (idempotent.Key, error) {
	if r.found == nil {
		r.found = &foundKey{}
		if o.Key == nil {
			r.found.key, r.found.err = o.keyByHeader(r)
		} else {
			r.found.key, r.found.err = o.keyByFunction(r)
		}
	}
	return r.found.key, r.found.err
}

func (o *Options) keyByHeader(r *incoming) (idempotent.Key, error) {
	id, err := o.parseKey(r.Headers[o.Header])
	key := idempotent.Key{ID: id}
	if err == nil && o.Issued != nil {
		key.Issued = o.Issued(id)
	}
	return key, err
}

func (o *Options) keyByFunction(r *incoming) (idempotent.Key, error) {
	if r.err != nil {
		return idempotent.Key{}, r.err
	}
	key, err := o.Key(Request{Method: r.Method, Path: r.Path, Query: r.queryMap(), Headers: r.Headers, Body: r.Body})
	switch {
	case errors.Is(err, idempotent.ErrMissingKey), err == nil && key.ID == "" && key.Scope == "" && key.Record == "":
		missing := &idempotent.MissingKeyError{Part: "id"}
		if found, ok := errors.AsType[*idempotent.MissingKeyError](err); ok {
			missing.At = found.At
		}
		return idempotent.Key{}, missing
	case err != nil:
		if invalid, ok := errors.AsType[*idempotent.InvalidKeyError](err); ok {
			return idempotent.Key{}, invalidKey(invalid.Reason)
		}
		if invalid, ok := errors.AsType[*idempotent.InvalidPayloadError](err); ok {
			return idempotent.Key{}, invalid
		}
		return idempotent.Key{}, &functionError{err}
	case key.Scope != "":
		return idempotent.Key{}, &KeyFieldError{Field: "Scope"}
	case key.Record != "":
		return idempotent.Key{}, &KeyFieldError{Field: "Record"}
	}
	return key, o.checkKey(key.ID)
}

// functionError tells an error of the user's function from one of ours, until
// the core receives it.
type functionError struct{ err error }

func (e *functionError) Error() string { return e.err.Error() }
func (e *functionError) Unwrap() error { return e.err }

// identityText returns the text of an identity. It refuses numbers that may have
// been others before they became float64s.
func identityText(value any) (string, error) {
	const exact = 1<<53 - 1
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= exact {
			return strconv.FormatInt(int64(v), 10), nil
		}
	}
	return "", &idempotent.InvalidKeyError{Part: "Scope", Reason: "is neither a text nor an exact number"}
}
