package powertools

import (
	"slices"

	"github.com/lambda-once/once/internal/jmespath"
)

// canonicalText returns the text that is hashed.
func canonicalText(d Dialect, v any) ([]byte, error) {
	if d == TypeScript && orderVaries(v) {
		return nil, inapplicable("a member's name contains a letter whose order depends on the version of Node")
	}
	return canonicalStyle(d).Append(make([]byte, 0, 256), v), nil
}

// canonicalStyle is that of json.dumps with sorted keys in Python, and of
// JSON.stringify after Powertools' own sort in TypeScript.
func canonicalStyle(d Dialect) jmespath.Style {
	s := jmespath.PlainStyle(d.engine())
	if d == TypeScript {
		s.Keys = sortedTypeScriptKeys
		return s
	}
	s.Comma, s.Colon, s.Keys = ", ", ": ", func(o *jmespath.Object) []string { return slices.Sorted(slices.Values(o.Keys)) }
	return s
}
