package handlers

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/lambda-once/once/idempotent"
)

// httpRequest is what the rules need of a request, whatever brought it.
type httpRequest struct {
	method string
	path   string // as it was sent
	query  []httpParameter
	body   []byte
	caller Caller
	native *http.Request // of Middleware alone
	// err says why the request cannot be read. It is answered like any other
	// refusal, so that it is observed.
	err error
	// found is what keyOf has found.
	found *foundKey
}

// httpParameter is one of a query, with its escapes resolved by unescaped.
type httpParameter struct{ name, value string }

// unescaped resolves escapes, and takes text without valid ones as it is. The
// first byte tells the two apart: %zz is not what %25zz says.
func unescaped(text string, unescape func(string) (string, error)) string {
	if plain, err := unescape(text); err == nil {
		return "=" + plain
	}
	return "%" + text
}

// verbatim is for text that its sender has unescaped.
func verbatim(text string) (string, error) { return text, nil }

// rawQuery does not use url.ParseQuery, which drops what it cannot decode: two
// requests that differ in it would be one.
func rawQuery(text string) (query []httpParameter) {
	for pair := range strings.SplitSeq(text, "&") {
		if pair != "" {
			name, value, _ := strings.Cut(pair, "=")
			query = append(query, httpParameter{unescaped(name, url.QueryUnescape), unescaped(value, url.QueryUnescape)})
		}
	}
	return query
}

// mapQuery is for events that hold a query as maps, of which multi has all
// values where there is one. Names are taken in order: two that are one when
// unescaped would otherwise make another fingerprint each time.
func mapQuery(multi map[string][]string, single map[string]string, unescape func(string) (string, error)) (query []httpParameter) {
	add := func(name, value string) {
		query = append(query, httpParameter{unescaped(name, unescape), unescaped(value, unescape)})
	}
	for _, name := range slices.Sorted(maps.Keys(multi)) {
		for _, value := range multi[name] {
			add(name, value)
		}
	}
	if multi == nil {
		for _, name := range slices.Sorted(maps.Keys(single)) {
			add(name, single[name])
		}
	}
	return query
}

// eventHeaders joins the two maps of an event. A name that multi has is taken
// from there alone: single then repeats its last value. Two spellings of one
// name within a map are two values.
func eventHeaders(multi map[string][]string, single map[string]string) http.Header {
	joined := make(http.Header, max(len(multi), len(single)))
	for name, values := range multi {
		name = http.CanonicalHeaderKey(name)
		joined[name] = append(joined[name], values...)
	}
	taken := make(map[string]bool, len(joined))
	for name, values := range joined {
		taken[name] = len(values) > 0
	}
	for name, value := range single {
		if name = http.CanonicalHeaderKey(name); !taken[name] {
			joined[name] = append(joined[name], value)
		}
	}
	return joined
}

// setBody takes the body of an event.
func (r *httpRequest) setBody(text string, encoded bool) {
	r.body = []byte(text)
	if encoded {
		body, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			r.err = unreadable("the body is not base64", err)
		}
		r.body = body
	}
}

func unreadable(reason string, err error) error {
	return &idempotent.InvalidPayloadError{Offset: -1, Reason: reason, Err: err}
}
