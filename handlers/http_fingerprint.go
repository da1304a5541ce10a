package handlers

import (
	"cmp"
	"mime"
	"net/url"
	"slices"
	"strings"
)

// fingerprint is what a second use of a key must agree on: the method, the
// path, the query and the body. A changed form of it refuses, after an update
// of the function, the repetitions of what ran before.
//
// Every part has its length before it, and every list its count, so that no
// text of one part is the beginning of another.
func (r *httpRequest) fingerprint() string {
	d := newDigest()
	d.text(r.method)
	// The path and not the route's template, which /accounts/1 and /accounts/2
	// share. It is split before it is decoded: a%2Fb is one segment.
	segments := strings.Split(r.path, "/")
	d.count(len(segments))
	for _, segment := range segments {
		d.text(unescaped(segment, url.PathUnescape))
	}
	// Proxies may reorder names. The order of one name's values can matter.
	query := slices.Clone(r.query)
	slices.SortStableFunc(query, func(a, b httpParameter) int { return cmp.Compare(a.name, b.name) })
	d.count(len(query))
	for _, p := range query {
		d.text(p.name)
		d.text(p.value)
	}
	kind, body := bodyFingerprint(r.body, r.looksLikeJSON())
	d.text(kind)
	d.text(body)
	return d.hex()
}

// looksLikeJSON also goes by the body: curl --data sends JSON as a form.
func (r *httpRequest) looksLikeJSON() bool {
	if looksLikeJSON(r.body) {
		return true
	}
	kind, _, err := mime.ParseMediaType(r.caller.Headers.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}
