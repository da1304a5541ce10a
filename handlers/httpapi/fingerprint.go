package httpapi

import (
	"cmp"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/lambda-once/once/handlers/internal/digest"
)

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
