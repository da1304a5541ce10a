package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent"
)

// HTTPRequest is what [HTTPOptions].Key gets of a request, whatever brought it.
// The function must not change what it holds.
//
// To an idempotent.Path it has the members method, path, query, headers and
// body, as in "body.id" and "headers.\"X-Event-Id\"[0]". The body is a JSON
// value, or a string where it is text and not JSON, or null.
type HTTPRequest struct {
	Method  string
	Path    string              // as it was sent
	Query   map[string][]string // without escapes
	Headers http.Header         // of the client, who may send what he likes
	Body    []byte
}

// MarshalJSON returns the form to which an idempotent.Path applies.
func (r HTTPRequest) MarshalJSON() ([]byte, error) {
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

// HeaderKey returns a function for [HTTPOptions].Key that takes the key from a
// header as it is, such as X-GitHub-Delivery. A header that is given twice is
// refused. Name a header that has the form of an Idempotency-Key
// in HTTPOptions.Header instead.
func HeaderKey(name string) func(HTTPRequest) (idempotent.Key, error) {
	if !isToken(name) {
		panic(fmt.Sprintf("handlers: HeaderKey: %q is no field name", name))
	}
	name = http.CanonicalHeaderKey(name)
	return func(r HTTPRequest) (idempotent.Key, error) {
		values := r.Headers[name]
		if len(values) > 1 {
			return idempotent.Key{}, invalidKey("is given more than once")
		}
		if len(values) == 0 || strings.Trim(values[0], " \t") == "" {
			return idempotent.Key{}, &idempotent.MissingKeyError{Part: "id"}
		}
		return idempotent.Key{ID: strings.Trim(values[0], " \t")}, nil
	}
}

// ErrKeyField marks errors of type [*KeyFieldError].
var ErrKeyField = errors.New("handlers: HTTPOptions.Key has set a field that is not its own")

// KeyFieldError says that an [HTTPOptions].Key function has set a field of the
// key that is not its own. Nothing was run. Whose a key is, say with the Scope
// of the adapter.
type KeyFieldError struct{ Field string } // "Scope" or "Record"

func (e *KeyFieldError) Error() string {
	return "handlers: HTTPOptions.Key has set Key." + e.Field + "; say whose a key is with the Scope of the adapter"
}

// Is reports whether target is ErrKeyField.
func (e *KeyFieldError) Is(target error) bool { return target == ErrKeyField }

// foundKey is what a request has for its key.
type foundKey struct {
	key idempotent.Key
	err error
}

// keyOf finds the key of a request, without its scope and, in most cases, its
// fingerprint. It looks once.
func (o *HTTPOptions) keyOf(r *httpRequest) (idempotent.Key, error) {
	if r.found == nil {
		r.found = &foundKey{}
		if o.Key == nil {
			r.found.key.ID, r.found.err = o.httpKey(r.caller.Headers[o.Header])
		} else {
			r.found.key, r.found.err = o.keyByFunction(r)
		}
	}
	return r.found.key, r.found.err
}

// keyed reports whether a request has a key, be it a wrong one.
func (o *HTTPOptions) keyed(r *httpRequest) bool {
	_, err := o.keyOf(r)
	return !errors.Is(err, idempotent.ErrMissingKey)
}

func (o *HTTPOptions) keyByFunction(r *httpRequest) (idempotent.Key, error) {
	if r.err != nil {
		return idempotent.Key{}, r.err
	}
	key, err := o.Key(r.public())
	switch {
	case errors.Is(err, idempotent.ErrMissingKey), err == nil && key.ID == "" && key.Scope == "" && key.Record == "":
		return idempotent.Key{}, &idempotent.MissingKeyError{Part: "id"}
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

func (r *httpRequest) public() HTTPRequest {
	query := make(map[string][]string, len(r.query))
	for _, p := range r.query {
		name := p.name[1:] // without what says whether it had escapes
		query[name] = append(query[name], p.value[1:])
	}
	return HTTPRequest{Method: r.method, Path: r.path, Query: query, Headers: r.caller.Headers, Body: r.body}
}
