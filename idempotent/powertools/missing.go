package powertools

import (
	"slices"

	"github.com/lambda-once/once/internal/jmespath"
)

// missing reports whether Powertools takes a selection for a missing key. The
// languages differ.
func (k *Keyer) missing(v any) bool {
	switch o, object := v.(*jmespath.Object); {
	case k.options.HashMissing:
		// Powertools checks only the selection of a path before.
		return k.path != nil && (v == nil || v == (jmespath.Undefined{}))
	case k.dialect == TypeScript:
		return consistsOf(v, falsy)
	case object: // Python compares its keys with None
		return len(o.Keys) == 0
	}
	return v == "" || consistsOf(v, isNull)
}

// consistsOf reports whether a selection is empty in this sense, or a list or an
// object that contains only such values.
func consistsOf(v any, empty func(any) bool) bool {
	some := func(e any) bool { return !empty(e) }
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, some)
	case *jmespath.Object:
		for _, e := range v.Members {
			if some(e) {
				return false
			}
		}
		return true
	}
	return empty(v)
}

func isNull(v any) bool { return v == nil }

// falsy is that of JavaScript, where [] and {} are true.
func falsy(v any) bool {
	switch v := v.(type) {
	case nil, jmespath.Undefined:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return v == ""
	}
	return false
}
