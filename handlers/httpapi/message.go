package httpapi

import (
	"cmp"
	"encoding/base64"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/lambda-once/once/handlers/internal/digest"
)

// A parameter is one of a query, with its escapes resolved by unescaped.
type parameter struct{ name, value string }

// queryMap returns the parameters by their names.
func (r *incoming) queryMap() map[string][]string {
	query := make(map[string][]string, len(r.Query))
	for _, p := range r.Query {
		name := p.name[1:] // without the byte that unescaped has added
		query[name] = append(query[name], p.value[1:])
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

// verbatim is the unescape function for text that is not escaped.
func verbatim(text string) (string, error) { return text, nil }

// rawQuery parses a query. Unlike url.ParseQuery it drops nothing that it cannot
// decode: two requests that differ in it would be one.
func rawQuery(text string) (query []parameter) {
	for pair := range strings.SplitSeq(text, "&") {
		if pair != "" {
			name, value, _ := strings.Cut(pair, "=") // a name alone has the empty value
			query = append(query, parameter{unescaped(name, url.QueryUnescape), unescaped(value, url.QueryUnescape)})
		}
	}
	return query
}

// queryValues joins the two maps of an event. multi, if it is not nil, contains all values.
func queryValues(multi map[string][]string, single map[string]string) map[string][]string {
	if multi == nil {
		multi = make(map[string][]string, len(single))
		for name, value := range single {
			multi[name] = []string{value}
		}
	}
	return multi
}

// mapQuery returns the query of an event that contains it as a map. Names are taken in
// order: two that are the same when unescaped would otherwise change the fingerprint each
// time.
func mapQuery(multi map[string][]string, unescape func(string) (string, error)) (query []parameter) {
	for _, name := range slices.Sorted(maps.Keys(multi)) {
		for _, value := range multi[name] {
			query = append(query, parameter{unescaped(name, unescape), unescaped(value, unescape)})
		}
	}
	return query
}

// eventHeaders joins the two maps of an event. A name in multi is taken from there
// alone, because single repeats its last value. Two spellings of one name within
// a map are two values.
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

// eventRequest returns the request in an event, which may list cookies beside its headers.
func eventRequest(caller Caller, path string, query []parameter, headers http.Header, cookies []string, body string, encoded bool) *incoming {
	if len(cookies) > 0 {
		headers.Set("Cookie", strings.Join(cookies, "; "))
	}
	caller.Headers = headers
	r := &incoming{Path: path, Query: query, Headers: headers, Body: []byte(body), caller: caller}
	if encoded {
		var err error
		if r.Body, err = base64.StdEncoding.DecodeString(body); err != nil {
			r.err = unreadable("the body is not base64", err)
		}
	}
	return r
}

// fingerprint returns a digest of the parts that a repetition must have in common: the
// method, the path, the query and the body. If its form changes, an updated
// function refuses repetitions of requests from before the update.
func (r *incoming) fingerprint() string {
	d := digest.New()
	d.Text(r.Method)
	// The path and not the route's template, which /accounts/1 and /accounts/2
	// share. It is split before it is decoded: a%2Fb is one segment.
	segments := strings.Split(r.Path, "/")
	d.Count(len(segments))
	for _, segment := range segments {
		d.Text(unescaped(segment, url.PathUnescape))
	}
	// Proxies may reorder names. The order of one name's values can matter.
	query := slices.Clone(r.Query)
	slices.SortStableFunc(query, func(a, b parameter) int { return cmp.Compare(a.name, b.name) })
	d.Count(len(query))
	for _, p := range query {
		d.Text(p.name)
		d.Text(p.value)
	}
	kind, body := digest.Body(r.Body, r.isJSON())
	d.Text(kind)
	d.Text(body)
	return d.Hex()
}

// isJSON considers the body too: curl --data sends JSON as a form.
func (r *incoming) isJSON() bool {
	if digest.LooksLikeJSON(r.Body) {
		return true
	}
	kind, _, err := mime.ParseMediaType(r.Headers.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}
