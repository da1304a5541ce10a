package powertools

import "math"

// missing reports whether Powertools takes a selection for a missing key. The
// four languages differ.
func (k *Keyer) missing(v any) bool {
	switch k.dialect {
	case TypeScript:
		if k.options.HashMissing {
			// Only what a path selects is checked before.
			return k.path != nil && (v == nil || v == undefined{})
		}
		return missingInTypeScript(v)
	case Python:
		switch v := v.(type) {
		case []any:
			return allNull(v)
		case *object: // its keys are what is compared with None
			return len(v.keys) == 0
		}
		return v == nil || v == ""
	case Java:
		switch v := v.(type) {
		case []any:
			return allNull(v)
		case *object:
			for _, e := range v.members {
				if e != nil {
					return false
				}
			}
			return true
		}
		return v == nil
	default:
		return !k.options.HashMissing && (v == nil || v == "")
	}
}

// missingInTypeScript reports whether a selection is falsy, or contains only
// falsy values.
func missingInTypeScript(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if !falsy(e) {
				return false
			}
		}
		return true
	case *object:
		for _, e := range v.members {
			if !falsy(e) {
				return false
			}
		}
		return true
	}
	return falsy(v)
}

// falsy is that of JavaScript, where [] and {} are true.
func falsy(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return true
	case bool:
		return !v
	case float64:
		return v == 0 || math.IsNaN(v)
	case string:
		return v == ""
	}
	return false
}

func allNull(list []any) bool {
	for _, e := range list {
		if e != nil {
			return false
		}
	}
	return true
}
