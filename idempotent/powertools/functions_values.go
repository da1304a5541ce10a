package powertools

import (
	"strconv"
	"strings"
)

type applied = func(any) (any, error)

func contains(d Dialect, args []any, _ applied) (any, error) {
	if list, ok := args[0].([]any); ok {
		if d == TypeScript && isComposite(args[1]) {
			return nil, inapplicable("TypeScript looks for the same object, not for an equal one")
		}
		for _, e := range list {
			if equalInside(d, e, args[1]) {
				return true, nil
			}
		}
		return false, nil
	}
	return compareText(d, "contains", args, strings.Contains)
}

func startsWith(d Dialect, args []any, _ applied) (any, error) {
	return compareText(d, "starts_with", args, strings.HasPrefix)
}

func endsWith(d Dialect, args []any, _ applied) (any, error) {
	return compareText(d, "ends_with", args, strings.HasSuffix)
}

// compareText refuses half a surrogate pair, which TypeScript would find in the
// middle of a code point.
func compareText(d Dialect, name string, args []any, holds func(s, part string) bool) (any, error) {
	s, ok := args[0].(string)
	part, isText := args[1].(string)
	if !ok || !isText || d == TypeScript && hasSurrogate(part) {
		return nil, errArguments(name)
	}
	return holds(s, part), nil
}

func join(d Dialect, args []any, _ applied) (any, error) {
	separator, ok := args[0].(string)
	list, isList := args[1].([]any)
	if !ok || !isList {
		return nil, errArguments("join")
	}
	parts := make([]string, len(list))
	for i, e := range list {
		if parts[i], ok = e.(string); !ok {
			return nil, errArguments("join")
		}
	}
	text := strings.Join(parts, separator)
	if d == TypeScript {
		text = joinSurrogates(text)
	}
	return text, nil
}

func keys(d Dialect, args []any, _ applied) (any, error) {
	o, ok := args[0].(*object)
	if !ok {
		return nil, errArguments("keys")
	}
	list := []any{}
	for _, key := range o.ordered(d) {
		list = append(list, key)
	}
	return list, nil
}

func values(d Dialect, args []any, _ applied) (any, error) {
	o, ok := args[0].(*object)
	if !ok {
		return nil, errArguments("values")
	}
	return valuesOf(d, o), nil
}

func length(d Dialect, args []any, _ applied) (any, error) {
	n := 0
	switch v := args[0].(type) {
	case string:
		if n = len(runes(v)); d == TypeScript {
			n = len(units(v))
		}
	case []any:
		n = len(v)
	case *object:
		n = len(v.keys)
	default:
		return nil, errArguments("length")
	}
	if d == TypeScript {
		return float64(n), nil
	}
	return integer(strconv.Itoa(n)), nil
}

func mapped(d Dialect, args []any, apply applied) (any, error) {
	list, ok := args[1].([]any)
	if !ok {
		return nil, errArguments("map")
	}
	result := make([]any, len(list))
	for i, e := range list {
		v, err := apply(e)
		if err != nil {
			return nil, err
		}
		if d == TypeScript && falsy(v) { // also 0, "" and false
			v = nil
		}
		result[i] = v
	}
	return result, nil
}

func merge(_ Dialect, args []any, _ applied) (any, error) {
	merged := newObject(0)
	for _, arg := range args {
		o, ok := arg.(*object)
		if !ok {
			return nil, errArguments("merge")
		}
		for _, key := range o.keys {
			merged.set(key, o.members[key])
		}
	}
	return merged, nil
}

func notNull(d Dialect, args []any, _ applied) (any, error) {
	for _, arg := range args {
		if arg != nil {
			if d == TypeScript && falsy(arg) { // the first one that is not null, or null
				return nil, nil
			}
			return arg, nil
		}
	}
	return nil, nil
}

func toArray(_ Dialect, args []any, _ applied) (any, error) {
	if list, ok := args[0].([]any); ok {
		return list, nil
	}
	return args, nil
}

func toString(d Dialect, args []any, _ applied) (any, error) {
	switch v := args[0].(type) {
	case string, undefined:
		return v, nil
	}
	return string(plainStyle(d).append(nil, args[0])), nil
}

func typeOf(_ Dialect, args []any, _ applied) (any, error) {
	switch args[0].(type) {
	case nil:
		return "null", nil
	case bool:
		return "boolean", nil
	case string:
		return "string", nil
	case []any:
		return "array", nil
	case *object:
		return "object", nil
	case undefined:
		return "unknown", nil
	default:
		return "number", nil
	}
}
