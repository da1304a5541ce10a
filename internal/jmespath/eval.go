package jmespath

// evaluate applies an expression to a value.
func (n *node) evaluate(d Dialect, v any) any {
	switch n.kind {
	case "literal":
		return n.value
	case "@":
		return v
	case "identifier":
		if o, ok := v.(*Object); ok && (n.text != "" || d != TypeScript) {
			return o.Members[n.text]
		}
		return nil
	case "index":
		list, _ := v.([]any)
		i := n.n
		if i < 0 {
			i += len(list)
		}
		if i < 0 || i >= len(list) || list[i] == any(Undefined{}) {
			return nil
		}
		return list[i]
	case "slice":
		switch v := v.(type) {
		case []any:
			return slice(n, v)
		case string:
			if d == Exact {
				return string(slice(n, []rune(v)))
			}
		}
		return nil
	case "list", "object":
		return n.build(d, v)
	case "call":
		return n.call(d, v)
	case "each", "values", "filter", "flatten":
		return n.project(d, v)
	}
	left := n.children[0].evaluate(d, v)
	switch n.kind {
	case "chain", "index chain":
		if left == nil && d == Exact {
			return nil
		}
		fallthrough
	case "|":
		return n.children[1].evaluate(d, left)
	case "!":
		return !truthy(left)
	case "||", "&&":
		if truthy(left) == (n.kind == "||") {
			return left
		}
		return n.children[1].evaluate(d, v)
	}
	return equal(d, left, n.children[1].evaluate(d, v)) == (n.kind == "==")
}

// truthy is that of JMESPath, where 0 is true.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil, Undefined:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case *Object:
		return len(v.Keys) > 0
	}
	return true
}

// build evaluates a list or an object of expressions.
func (n *node) build(d Dialect, v any) any {
	if v == nil && d != Exact {
		return nil
	}
	if n.kind == "list" {
		list := make([]any, len(n.children))
		for i, child := range n.children {
			list[i] = child.evaluate(d, v)
		}
		return list
	}
	o := newObject(len(n.children))
	for _, child := range n.children {
		o.set(child.text, child.children[0].evaluate(d, v))
	}
	return o
}

// project applies an expression to each element, and leaves out null results.
func (n *node) project(d Dialect, v any) any {
	left := n.children[0]
	v = left.evaluate(d, v)
	var elements []any
	if o, ok := v.(*Object); ok && n.kind == "values" {
		elements = valuesOf(d, o)
	} else if _, text := v.(string); text && left.kind == "index chain" && n.kind == "each" && left.children[1].kind == "slice" {
		// Where a list would be projected. Without the rest, two requests could have one
		// key, or one request two.
		if n.children[1].kind != "@" {
			panic(inapplicable("a slice of a string ends the expression, or a pipe follows it"))
		}
		return v
	} else if elements, ok = v.([]any); !ok || n.kind == "values" {
		return nil
	}
	if n.kind == "flatten" {
		return flatten(elements)
	}
	selected := []any{}
	for _, e := range elements {
		if n.kind == "filter" && !truthy(n.children[2].evaluate(d, e)) {
			continue
		}
		if e := n.children[1].evaluate(d, e); e != nil {
			selected = append(selected, e)
		}
	}
	return selected
}

func flatten(list []any) []any {
	flat := []any{}
	for _, e := range list {
		if inner, ok := e.([]any); ok {
			flat = append(flat, inner...)
		} else {
			flat = append(flat, e)
		}
	}
	return flat
}

func valuesOf(d Dialect, o *Object) []any {
	list := make([]any, 0, len(o.Keys))
	for _, key := range o.ordered(d) {
		list = append(list, o.Members[key])
	}
	return list
}

func slice[T any](n *node, list []T) []T {
	step := 1
	if n.bounds[2] != nil {
		step = *n.bounds[2]
	}
	first, last := 0, len(list) // the bounds of the indices
	start, stop := 0, len(list)
	if step < 0 {
		first, last = -1, len(list)-1
		start, stop = last, first
	}
	if n.bounds[0] != nil {
		start = clamp(*n.bounds[0], len(list), first, last)
	}
	if n.bounds[1] != nil {
		stop = clamp(*n.bounds[1], len(list), first, last)
	}
	part := []T{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		part = append(part, list[i])
		if d := stop - i; step > 0 && step >= d || step < 0 && step <= d { // i+step may overflow
			break
		}
	}
	return part
}

// clamp returns the index that a bound of a slice stands for.
func clamp(i, n, first, last int) int {
	if i < 0 {
		i += n
	}
	return min(max(i, first), last)
}
