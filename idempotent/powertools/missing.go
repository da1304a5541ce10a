package powertools

import "github.com/lambda-once/once/internal/jmespath"

// missing reports whether Powertools takes a selection for a missing key. The
// four languages differ.
func (k *Keyer) missing(v any) bool {
	switch k.dialect {
	case TypeScript:
		if k.options.HashMissing {
			// Only what a path selects is checked before.
			return k.path != nil && (v == nil || v == (jmespath.Undefined{}))
		}
		return missingInTypeScript(v)
	case Python:
		switch v := v.(type) {
		case []any:
			return allNull(v)
		case *jmespath.Object: // its keys are what is compared with None
			return len(v.Keys) == 0
		}
		return v == nil || v == ""
	case Java:
		switch v := v.(type) {
		case []any:
			return allNull(v)
		case *jmespath.Object:
			for _, e := range v.Members {
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
			if !jmespath.Falsy(e) {
				return false
			}
		}
		return true
	case *jmespath.Object:
		for _, e := range v.Members {
			if !jmespath.Falsy(e) {
				return false
			}
		}
		return true
	}
	return jmespath.Falsy(v)
}

func allNull(list []any) bool {
	for _, e := range list {
		if e != nil {
			return false
		}
	}
	return true
}
