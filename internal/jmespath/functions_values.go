package jmespath

import (
	"strconv"
	"strings"
)

func contains(c call) (any, error) {
	list, ok := c.args[0].([]any)
	_, text := c.args[1].(string)
	switch {
	case !ok && text:
		return compareText(strings.Contains)(c)
	case !ok && c.dialect == Exact:
		return false, nil
	case !ok:
		return nil, c.fail()
	case c.dialect == TypeScript && isComposite(c.args[1]):
		return nil, inapplicable("TypeScript looks for the same object, not for an equal one")
	}
	for _, e := range list {
		if equalInside(c.dialect, e, c.args[1]) {
			return true, nil
		}
	}
	return false, nil
}

func keys(c call) (any, error) {
	list := []any{}
	for _, key := range c.args[0].(*Object).ordered(c.dialect) {
		list = append(list, key)
	}
	return list, nil
}

func values(c call) (any, error) { return valuesOf(c.dialect, c.args[0].(*Object)), nil }

func items(c call) (any, error) {
	o, list := c.args[0].(*Object), []any{}
	for _, key := range o.ordered(c.dialect) {
		list = append(list, []any{key, o.Members[key]})
	}
	return list, nil
}

func fromItems(c call) (any, error) {
	o := newObject(0)
	for _, e := range c.args[0].([]any) {
		pair, _ := e.([]any)
		if len(pair) != 2 {
			return nil, c.fail()
		}
		key, ok := pair[0].(string)
		if !ok {
			return nil, c.fail()
		}
		o.set(key, pair[1])
	}
	return o, nil
}

func groupBy(c call) (any, error) {
	list := c.args[0].([]any)
	if len(list) == 0 {
		return nil, nil
	}
	groups := newObject(0)
	for _, e := range list {
		by, err := c.apply(e)
		if err != nil {
			return nil, err
		}
		key, ok := by.(string)
		if !ok {
			return nil, c.fail()
		}
		group, _ := groups.Members[key].([]any)
		groups.set(key, append(group, e))
	}
	return groups, nil
}

// zip returns as many lists as the shortest argument has elements.
func zip(c call) (any, error) {
	result := []any{}
	for i := 0; ; i++ {
		var tuple []any
		for _, arg := range c.args {
			list := arg.([]any)
			if i == len(list) {
				return result, nil
			}
			tuple = append(tuple, list[i])
		}
		result = append(result, tuple)
	}
}

func length(c call) (any, error) {
	n := 0
	switch v := c.args[0].(type) {
	case string:
		if n = len(Runes(v)); c.dialect == TypeScript {
			n = len(Units(v))
		}
	case []any:
		n = len(v)
	case *Object:
		n = len(v.Keys)
	}
	if c.dialect == TypeScript {
		return float64(n), nil
	}
	return Number(strconv.Itoa(n)), nil
}

func mapped(c call) (any, error) {
	results, err := c.applyAll(c.args[1].([]any))
	if err != nil {
		return nil, err
	}
	for i, v := range results {
		if c.dialect == TypeScript && Falsy(v) { // also 0, "" and false
			results[i] = nil
		}
	}
	return results, nil
}

func merge(c call) (any, error) {
	merged := newObject(0)
	for _, arg := range c.args {
		o := arg.(*Object)
		for _, key := range o.Keys {
			merged.set(key, o.Members[key])
		}
	}
	return merged, nil
}

func notNull(c call) (any, error) {
	for _, arg := range c.args {
		if arg != nil {
			if c.dialect == TypeScript && Falsy(arg) { // the first one that is not null, or null
				return nil, nil
			}
			return arg, nil
		}
	}
	return nil, nil
}

func toArray(c call) (any, error) {
	if list, ok := c.args[0].([]any); ok {
		return list, nil
	}
	return c.args, nil
}

func toString(c call) (any, error) {
	switch v := c.args[0].(type) {
	case string, Undefined:
		return v, nil
	}
	if c.dialect == Exact {
		text, err := Canonical(c.args[0])
		return string(text), err
	}
	return string(PlainStyle(c.dialect).Append(nil, c.args[0])), nil
}

func typeOf(c call) (any, error) {
	switch c.args[0].(type) {
	case nil:
		return "null", nil
	case bool:
		return "boolean", nil
	case string:
		return "string", nil
	case []any:
		return "array", nil
	case *Object:
		return "object", nil
	case Undefined:
		return "unknown", nil
	default:
		return "number", nil
	}
}
