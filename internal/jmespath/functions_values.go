package jmespath

import (
	"strconv"
	"strings"
)

func contains(c call) any {
	list, ok := c.args[0].([]any)
	_, text := c.args[1].(string)
	switch {
	case !ok && text:
		return compareText(strings.Contains)(c)
	case !ok && c.dialect == Exact:
		return false
	case !ok:
		panic(c.failure())
	case c.dialect == TypeScript && isComposite(c.args[1]):
		panic(inapplicable("TypeScript looks for the same object, not for an equal one"))
	}
	for _, e := range list {
		if equalInside(c.dialect, e, c.args[1]) {
			return true
		}
	}
	return false
}

func keys(c call) any {
	list := []any{}
	for _, key := range c.args[0].(*Object).ordered(c.dialect) {
		list = append(list, key)
	}
	return list
}

func values(c call) any { return valuesOf(c.dialect, c.args[0].(*Object)) }

func items(c call) any {
	o, list := c.args[0].(*Object), []any{}
	for _, key := range o.ordered(c.dialect) {
		list = append(list, []any{key, o.Members[key]})
	}
	return list
}

func fromItems(c call) any {
	o := newObject(0)
	for _, e := range c.args[0].([]any) {
		pair, _ := e.([]any)
		if len(pair) != 2 {
			panic(c.failure())
		}
		key, ok := pair[0].(string)
		if !ok {
			panic(c.failure())
		}
		o.set(key, pair[1])
	}
	return o
}

func groupBy(c call) any {
	list := c.args[0].([]any)
	if len(list) == 0 {
		return nil
	}
	groups := newObject(0)
	for _, e := range list {
		key, ok := c.apply(e).(string)
		if !ok {
			panic(c.failure())
		}
		group, _ := groups.Members[key].([]any)
		groups.set(key, append(group, e))
	}
	return groups
}

// zip returns as many lists as the shortest argument has elements.
func zip(c call) any {
	result := []any{}
	for i := 0; ; i++ {
		var tuple []any
		for _, arg := range c.args {
			list := arg.([]any)
			if i == len(list) {
				return result
			}
			tuple = append(tuple, list[i])
		}
		result = append(result, tuple)
	}
}

func length(c call) any {
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
		return float64(n)
	}
	return Number(strconv.Itoa(n))
}

func mapped(c call) any {
	results := c.applyAll(c.args[1].([]any))
	for i, v := range results {
		if c.dialect == TypeScript && Falsy(v) { // also 0, "" and false
			results[i] = nil
		}
	}
	return results
}

func merge(c call) any {
	merged := newObject(0)
	for _, arg := range c.args {
		o := arg.(*Object)
		for _, key := range o.Keys {
			merged.set(key, o.Members[key])
		}
	}
	return merged
}

func notNull(c call) any {
	for _, arg := range c.args {
		if arg != nil {
			if c.dialect == TypeScript && Falsy(arg) { // the first one that is not null, or null
				return nil
			}
			return arg
		}
	}
	return nil
}

func toArray(c call) any {
	if list, ok := c.args[0].([]any); ok {
		return list
	}
	return c.args
}

func toString(c call) any {
	switch v := c.args[0].(type) {
	case string, Undefined:
		return v
	}
	if c.dialect == Exact {
		return string(must(Canonical(c.args[0])))
	}
	return string(PlainStyle(c.dialect).Append(nil, c.args[0]))
}

func typeOf(c call) any {
	switch c.args[0].(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case *Object:
		return "object"
	case Undefined:
		return "unknown"
	default:
		return "number"
	}
}
