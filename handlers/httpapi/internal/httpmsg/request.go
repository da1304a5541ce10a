// Package httpmsg represents an HTTP request and response independently of their
// carrier: an event of API Gateway, a load balancer or a function URL, or
// net/http. It fingerprints requests, and converts responses to the form that is
// stored and back.
package httpmsg

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A Request holds the parts of a request that the rules need.
type Request struct {
	Method  string
	Path    string // as it was sent
	Query   []Parameter
	Headers http.Header
	Body    []byte
}

// A Parameter is one of a query, with its escapes resolved by unescaped.
type Parameter struct{ Name, Value string }

// QueryMap returns the parameters by their names.
func (r *Request) QueryMap() map[string][]string {
	query := make(map[string][]string, len(r.Query))
	for _, p := range r.Query {
		name := p.Name[1:] // without the byte that unescaped has added
		query[name] = append(query[name], p.Value[1:])
	}
	return query
}

// unescaped resolves escapes, and returns text without valid ones unchanged.
// The first byte tells the two apart: %zz is not the same as %25zz.
func unescaped(text string, unescape func(string) (string, error)) string {
	if plain, err := unescape(text); err == nil {
		return "=" + plain
	}
	return "%" + text
}

// Verbatim is the unescape function for text that is not escaped.
func Verbatim(text string) (string, error) { return text, nil }

// RawQuery parses a query. Unlike url.ParseQuery it drops nothing that it cannot
// decode: two requests that differ in it would be one.
func RawQuery(text string) (query []Parameter) {
	for pair := range strings.SplitSeq(text, "&") {
		if pair != "" {
			name, value, _ := strings.Cut(pair, "=")
			query = append(query, Parameter{unescaped(name, url.QueryUnescape), unescaped(value, url.QueryUnescape)})
		}
	}
	return query
}

// MapQuery returns the query of an event that contains it as maps. multi, if it
// is not nil, contains all values. Names are taken in order: two that are the
// same when unescaped would otherwise change the fingerprint each time.
func MapQuery(multi map[string][]string, single map[string]string, unescape func(string) (string, error)) (query []Parameter) {
	add := func(name, value string) {
		query = append(query, Parameter{unescaped(name, unescape), unescaped(value, unescape)})
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

// Headers joins the two maps of an event. A name in multi is taken from there
// alone, because single repeats its last value. Two spellings of one name within
// a map are two values.
func Headers(multi map[string][]string, single map[string]string) http.Header {
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

// WithCookies adds the cookies that an event lists beside its headers.
func WithCookies(headers http.Header, cookies []string) http.Header {
	if len(cookies) > 0 {
		headers.Set("Cookie", strings.Join(cookies, "; "))
	}
	return headers
}

// Body returns the body of an event. The error is base64's.
func Body(text string, encoded bool) ([]byte, error) {
	if !encoded {
		return []byte(text), nil
	}
	return base64.StdEncoding.DecodeString(text)
}
